"""Tables of one's own: CSV files with a header and one sample per line, whatever the types of the columns are."""

import csv
from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import Literal

import numpy as np

from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.runtime.errors import DataError
from fairfl.runtime.plain import shown
from fairfl.runtime.validation import nearest

Task = Literal["classes", "number"]
Missing = Literal["drop", "mean"] | None
_MISSING = ("", "na", "n/a", "nan", "null", "none", "?")


def local_file(name: str) -> RemoteFile:
    """A file in the data folder, or in a mirror, which it is copied from. It needs no checksum: what it says counts."""
    return RemoteFile(name, (), why_no_sha256="the user's own file")


def read(
    dataset: str,
    path: Path,
    label: str,
    features: Sequence[str] | None = None,
    client: str | None = None,
    task: Task = "classes",
    missing: Missing = None,
    standardize: bool = False,
) -> Prepared:
    """inputs float32 [N, d] of the columns `features` (None: all but label and client), in this order.

    The distinct labels, sorted (as numbers if they are numbers), are the classes 0, 1, ...; with task `number` a label
    is the float32 to predict. The distinct words of the column `client`, in order of appearance, are the owners
    0, 1, ...

    Where cells are missing, `drop` leaves their samples out, `mean` takes the mean of the column for a feature and
    leaves out samples without label or client. `standardize` takes mean and standard deviation (of the population) of
    each feature over all samples that are left, those for tests too; a constant feature becomes 0.

    Raises:
        DataError: no such column, no two classes, a line of another length, a cell that is no finite number.
        OSError: the file cannot be read.
    """
    columns = _columns(path)
    for name in (label, *(features or ()), *([client] if client else [])):
        if name not in columns:
            raise DataError(f"{path}: no column {shown(name)}{nearest(name, columns)}")
    used = list(features or (name for name in columns if name not in (label, client)))
    if not used:
        raise DataError(f"{path}: no column of features beside {', '.join(columns)}")
    dropped = 0
    if missing is not None:
        needed = [*(used if missing == "drop" else ()), label, *([client] if client else [])]
        columns, dropped = _complete(path, columns, needed)
    inputs = np.stack([_numbers(path, name, columns[name], missing) for name in used], axis=1)
    if standardize:
        spread = inputs.std(0, dtype=np.float64)
        inputs = ((inputs - inputs.mean(0, dtype=np.float64)) / np.where(spread > 0, spread, 1)).astype(np.float32)
    classes = _distinct(columns[label]) if task == "classes" else []
    if len(classes) == 1:
        raise DataError(f"{path}: column {label!r} has one class only, {shown(classes[0])}")
    labels = _places(columns[label], classes) if classes else _numbers(path, label, columns[label], None)
    owners = _places(columns[client], list(dict.fromkeys(columns[client]))) if client else None
    said = [f"{dropped} of {dropped + len(inputs)} samples with missing cells left out"] * bool(dropped)
    said += ["missing cells are means"] * (missing == "mean") + ["standardized"] * standardize
    source = "; ".join([f"{path.name}: {label} from {', '.join(used)}", *said])
    return assemble(dataset, len(classes), source, inputs, labels, client=owners)


def _complete(path: Path, columns: dict[str, list[str]], needed: Sequence[str]) -> tuple[dict[str, list[str]], int]:
    """The samples with a value in all columns that are needed, and how many others there are."""
    lines = zip(*(columns[name] for name in needed), strict=True)
    kept = [not any(cell.lower() in _MISSING for cell in line) for line in lines]
    if not any(kept):
        raise DataError(f"{path}: no sample is left without a missing cell in {', '.join(needed)}")
    return {name: list(compress(cells, kept)) for name, cells in columns.items()}, kept.count(False)


def _distinct(cells: Sequence[str]) -> list[str]:
    """The distinct cells, by their values if all are numbers, else as words; 1 and 1.0 are two."""
    words = set(cells)
    try:
        return sorted(words, key=lambda word: (float(word), word))
    except ValueError:
        return sorted(words)


def _places(cells: Sequence[str], known: Sequence[str]) -> np.ndarray:
    """int64 [N]: where each cell stands among the known ones."""
    at = {word: place for place, word in enumerate(known)}
    return np.array([at[cell] for cell in cells], np.int64)


def _columns(path: Path) -> dict[str, list[str]]:
    """The cells by column, without blanks around them."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [[cell.strip() for cell in line] for line in csv.reader(file, strict=True) if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: not CSV: {error}") from None
    if len(lines) < 2:
        raise DataError(f"{path}: expected a header and a line per sample, found {len(lines)} lines in all")
    header, *samples = lines
    if len(set(header)) < len(header):
        raise DataError(f"{path}: two columns have one name: {', '.join(header)}")
    for number, line in enumerate(samples, 1):
        if len(line) != len(header):
            raise DataError(f"{path}: sample {number} has {len(line)} cells, the header {len(header)}")
    return dict(zip(header, map(list, zip(*samples, strict=True)), strict=True))


def _numbers(path: Path, name: str, cells: Sequence[str], missing: Missing) -> np.ndarray:
    """float32 of a column; the mean of the others where a cell is missing, if that is asked for."""
    values, absent = np.empty(len(cells)), np.zeros(len(cells), bool)
    for number, cell in enumerate(cells):
        if cell.lower() in _MISSING:
            if missing is None:
                way = "give `missing: drop` or `missing: mean`"
                raise DataError(f"{path}: sample {number + 1}: {name}: {shown(cell)} is no number; {way}")
            absent[number] = True
            continue
        try:
            values[number] = float(cell)
        except ValueError:
            raise DataError(f"{path}: sample {number + 1}: {name}: {shown(cell)} is no number") from None
    if absent.all():
        raise DataError(f"{path}: {name}: no sample has a value")
    values[absent] = values[~absent].mean() if absent.any() else 0
    wrong = ~(np.abs(values) <= np.finfo(np.float32).max)  # NaN too
    if wrong.any():
        number = int(wrong.argmax())
        raise DataError(f"{path}: sample {number + 1}: {name}: {shown(cells[number])} is no finite float32")
    return values.astype(np.float32)
