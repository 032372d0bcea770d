"""Tables of one's own: CSV files with a header and one sample per line, whatever the types of the columns are."""

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.runtime.errors import DataError
from fairfl.runtime.plain_data import different, few, one_line, shown
from fairfl.runtime.validation import nearest

if TYPE_CHECKING:  # plans read declarations, which need no pandas
    import pandas as pd

Task = Literal["classes", "number"]
Missing = Literal["drop", "mean"] | None
# In lower case: those of pandas, and the mark that UCI's files have.
MISSING = frozenset(
    (
        "",
        "#n/a",
        "#n/a n/a",
        "#na",
        "-1.#ind",
        "-1.#qnan",
        "-nan",
        "1.#ind",
        "1.#qnan",
        "<na>",
        "n/a",
        "na",
        "nan",
    )
    + ("none", "null", "?")
)
# float() would take 2024_3 and digits of other scripts as well, which no CSV means.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# How pandas, and R's readr, call the column of row numbers that has no name.
_NAMELESS = re.compile(r"(unnamed[:_. ]+\d.*|\.\.\.\d+)?", re.IGNORECASE)


def local_file(name: str) -> RemoteFile:
    """A file in the data folder, or in a mirror, which it is copied from. It needs no checksum: what it says counts."""
    return RemoteFile(name)


class _Table(NamedTuple):
    """Cells as text and where they are missing (bool), [N, columns]; the index is a sample's number in the file."""

    path: Path
    cells: "pd.DataFrame"
    absent: "pd.DataFrame"

    def fault(self, row: int, name: str, what: str) -> DataError:
        """An error about one cell; `what` follows the cell itself."""
        number, cell = self.cells.index[row], self.cells[name].iloc[row]
        return DataError(f"{self.path}: sample {number}: {name}: {shown(cell)} {what}")


def read(
    dataset: str,
    path: Path,
    label: str,
    features: Sequence[str] | None = None,
    client: str | None = None,
    cluster: str | None = None,
    categories: Sequence[str] = (),
    task: Task = "classes",
    missing: Missing = None,
    na_values: Sequence[str | float] = (),
    keep_default_na: bool = True,
    standardize: bool = False,
) -> Prepared:
    """inputs float32 [N, d] of the columns `features` (None: all but label, client and cluster), in this order.

    The distinct labels, sorted (as numbers if they are numbers), are the classes 0, 1, ...; with task `number` a label
    is the float32 to predict. The distinct words of the column `client`, in order of appearance, are the owners
    0, 1, ..., and `cluster` says of which cluster each owner is. Numbers of one value are one class, owner, cluster or
    category, however they are written. A feature in `categories` is a column of 0 and 1 for each of its words.

    Where cells are missing, `drop` leaves their samples out, `mean` takes the mean of the column for a feature and
    leaves out samples without label, client or cluster. `standardize` takes mean and standard deviation (of the
    population) of each number over all samples that are left, those for tests too; a constant one becomes 0. All is
    computed in float64 and rounded at the end.

    Raises:
        DataError: no such column, no two classes, a line that is too long, a missing cell that `missing` does not
            provide for, a cell that is no finite number, or numbers that are one in float32.
        OSError: the file cannot be read.
    """
    keys = [name for name in (label, client, cluster) if name is not None]
    cells = _cells(path)
    used = _features(path, list(cells), keys, features, categories)
    cells = cells[list(dict.fromkeys([*keys, *used]))]
    table, said = _complete(
        _Table(path, cells, _absent(cells, na_values, keep_default_na)), keys, missing
    )
    inputs = _inputs(table, used, categories, standardize)
    labels, classes = _labels(table, label) if task == "classes" else (_targets(table, label), [])
    counted = [f"{len(inputs):,} samples"] + [f"{len(classes)} classes ({few(classes)})"] * bool(
        classes
    )
    owners = clusters = known = None
    if client is not None:
        owners, known = _distinct(table.cells[client], ordered=False)
        counted.append(
            f"{len(known)} owners ({few(known)})" + ", who are the classes" * (client == label)
        )
        clusters = _clusters(table, owners, known, cluster) if cluster else None
    said += ["missing cells are means"] * (missing == "mean") + ["standardized"] * standardize
    columns = few([f"{name} (one-hot)" if name in categories else name for name in used])
    source = "; ".join([f"{path.name}: {label} from {columns}", ", ".join(counted), *said])
    given: dict[str, Any] = {"client": owners, "clusters": clusters, "owners": known}
    return assemble(dataset, len(classes), source, inputs, labels, **given)


def _cells(path: Path) -> "pd.DataFrame":
    """All cells as text without blanks around them; the index counts the samples from 1."""
    import pandas as pd

    try:
        with path.open(encoding="utf-8-sig") as file:
            header = file.readline()
        separator = next((sign for sign in ",;\t|" if sign in header), ",")
        lines = pd.read_csv(
            path,
            sep=separator,
            header=None,
            dtype=str,
            na_filter=False,
            encoding="utf-8-sig",
            skipinitialspace=True,
        )
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise DataError(f"{path}: not CSV: {one_line(str(error))}") from None
    if len(lines) < 2:
        raise DataError(
            f"{path}: expected a header and a line per sample, found {len(lines)} lines in all"
        )
    text = lines.map(str.strip).to_numpy()
    return pd.DataFrame(text[1:], range(1, len(text)), text[0])


def _features(
    path: Path,
    names: list[str],
    keys: list[str],
    features: Sequence[str] | None,
    categories: Sequence[str],
) -> list[str]:
    """The columns of features. Raises DataError for columns that are not there, have no name or are the label."""
    named = list(filter(None, names))
    try:
        different(named)
    except ValueError as error:
        raise DataError(f"{path}: two columns have one name: {error}") from None
    for name in (*keys, *(features or ()), *categories):
        if name not in named:
            raise DataError(f"{path}: no column {shown(name)}{nearest(name, named)}")
    used = [name for name in names if name not in keys] if features is None else list(features)
    if keys[0] in used:
        raise DataError(f"{path}: features: {shown(keys[0])} is the label")
    if features is None and (nameless := [name for name in used if _NAMELESS.fullmatch(name)]):
        number = names.index(nameless[0]) + 1
        raise DataError(
            f"{path}: column {number} has no name ({shown(nameless[0])}): name the `features`, or write the file "
            "without its index"
        )
    if not used:
        raise DataError(f"{path}: no column of features beside {few(names)}")
    if other := [name for name in categories if name not in used]:
        raise DataError(f"{path}: categories: {shown(other[0])} is not among the features")
    return used


def _absent(
    cells: "pd.DataFrame", na_values: Sequence[str | float], keep_default_na: bool
) -> "pd.DataFrame":
    """Where cells are missing, bool [N, columns]. A number of `na_values` is -9, -9.0 and so on."""
    import pandas as pd

    words = {"", *(MISSING if keep_default_na else ()), *map(str, na_values)}
    values = {_value(word.lower()) for word in words}
    codes, distinct = pd.factorize(cells.to_numpy().ravel())
    absent = np.array([_value(word.lower()) in values for word in distinct])[codes]
    return pd.DataFrame(absent.reshape(cells.shape), cells.index, cells.columns)


def _complete(table: _Table, keys: list[str], missing: Missing) -> tuple[_Table, list[str]]:
    """The samples that have what they need, and what was left out in words."""
    path, cells, absent = table
    needed = list(cells) if missing != "mean" else keys
    lacking = absent[needed].any(axis=1)
    if missing is None and lacking.any():
        row = int(lacking.to_numpy().argmax())
        name = needed[int(absent[needed].iloc[row].to_numpy().argmax())]
        ways = "`missing: drop`" + " or `missing: mean`" * (name not in keys)
        word = ", or `keep_default_na: false` if it is a word like others" * bool(
            cells[name].iloc[row]
        )
        raise table.fault(row, name, f"is a missing cell; give {ways}{word}")
    if lacking.all():
        raise DataError(f"{path}: no sample is left without a missing cell in {few(needed)}")
    if not lacking.any():
        return table, []
    words = sorted({shown(word) for word in cells[needed].to_numpy()[absent[needed].to_numpy()]})
    said = f"{lacking.sum():,} of {len(cells):,} samples with missing cells ({few(words)}) left out"
    return _Table(path, cells[~lacking], absent[~lacking]), [said]


def _inputs(
    table: _Table, used: list[str], categories: Sequence[str], standardize: bool
) -> np.ndarray:
    """float32 [N, d]."""
    columns: list[np.ndarray] = []
    for name in used:
        if name in categories:
            codes, words = _distinct(table.cells[name].mask(table.absent[name]))
            _check_many(table, name, len(words), "leave it out of the features")
            places = range(len(words))
            columns += [
                _filled(table, name, np.where(codes < 0, np.nan, codes == place))
                for place in places
            ]
        else:
            values = _filled(table, name, _numbers(table, name))
            rounded = (
                _standardized(values)
                if standardize
                else _rounded(table, name, values, "give `standardize: true`")
            )
            columns.append(rounded)
    return np.column_stack(columns).astype(np.float32)


def _labels(table: _Table, label: str) -> tuple[np.ndarray, list[str]]:
    """Class of each sample, int64 [N], and the words of the classes."""
    labels, classes = _distinct(table.cells[label])
    if len(classes) == 1:
        raise DataError(f"{table.path}: column {label!r} has one class only, {shown(classes[0])}")
    _check_many(table, label, len(classes), "is `task: number` meant?")
    return labels, classes


def _targets(table: _Table, label: str) -> np.ndarray:
    """Numbers to predict, float32 [N]."""
    return _rounded(
        table, label, _numbers(table, label), "subtract a constant from them in the file"
    )


def _clusters(table: _Table, owners: np.ndarray, known: list[str], cluster: str) -> list[int]:
    """True cluster of each owner."""
    codes, words = _distinct(table.cells[cluster])
    pairs = np.unique(np.stack([owners, codes]), axis=1)
    twice = np.flatnonzero(np.diff(pairs[0]) == 0)
    if twice.size:
        owner, (first, other) = pairs[0, twice[0]], pairs[1, twice[0] : twice[0] + 2]
        what = f"owner {shown(known[owner])} is in {shown(words[first])} and {shown(words[other])}"
        raise DataError(f"{table.path}: {cluster}: {what}; expected one cluster for each owner")
    return pairs[1].tolist()


def _distinct(cells: "pd.Series", ordered: bool = True) -> tuple[np.ndarray, list[str]]:
    """Place of each cell among the distinct words, int64 [N], -1 if missing (NaN); and these words.

    If all are numbers, those of one value are one. Words are sorted, or else in order of appearance.
    """
    import pandas as pd

    codes, words = pd.factorize(cells)
    keys: list = list(map(_value, words))
    if any(isinstance(key, str) for key in keys):
        keys = list(words)
    written: dict = {}
    for key, word in zip(keys, words, strict=True):
        written.setdefault(key, word)
    order = {key: place for place, key in enumerate(sorted(written) if ordered else written)}
    return np.array([*(order[key] for key in keys), -1])[codes], [written[key] for key in order]


def _value(word: str) -> Decimal | str:
    """What a cell says: a number has one value, however it is written."""
    return Decimal(word) if _NUMBER.fullmatch(word) else word


def _check_many(table: _Table, name: str, words: int, hint: str) -> None:
    """Raises DataError for a column in which nearly every sample has a word of its own."""
    samples = len(table.cells)
    if words == samples > 2 or (words > 10 and 2 * words > samples):
        raise DataError(f"{table.path}: {name}: {words:,} classes in {samples:,} samples; {hint}")


def _numbers(table: _Table, name: str) -> np.ndarray:
    """float64 [N], NaN where a cell is missing."""
    cells, absent = table.cells[name].to_numpy(), table.absent[name].to_numpy(bool)
    right = np.array([bool(_NUMBER.fullmatch(cell)) for cell in cells])
    for row in np.flatnonzero(~right & ~absent)[:1]:
        raise table.fault(
            row, name,
            "is no number (1.5e-3 is one); name a feature of words in `categories` or leave it out of `features`, name "
            "in `na_values` what means a missing cell",
        )  # fmt: skip
    values = np.where(absent, "nan", cells).astype(np.float64)
    for row in np.flatnonzero(np.isinf(values))[:1]:
        raise table.fault(row, name, "is no finite number")
    return values


def _filled(table: _Table, name: str, values: np.ndarray) -> np.ndarray:
    """The values of a column with their mean for each NaN."""
    absent = np.isnan(values)
    if absent.all():
        raise DataError(f"{table.path}: {name}: no sample has a value")
    return np.where(absent, values[~absent].mean(), values)


def _standardized(values: np.ndarray) -> np.ndarray:
    """float64 [N] with mean 0 and standard deviation 1; a constant column is 0.

    The first sample is taken out before, so that no column is too far from 0.
    """
    shifted = values - values[0]
    centred = shifted - shifted.mean()
    return centred / (centred.std() or 1.0)


def _rounded(table: _Table, name: str, values: np.ndarray, hint: str) -> np.ndarray:
    """float32 [N]. Raises DataError for cells that are too large, and if it makes many distinct cells one."""
    for row in np.flatnonzero(np.abs(values) > np.finfo(np.float32).max)[:1]:
        raise table.fault(row, name, f"is no finite float32; {hint}")
    rounded = values.astype(np.float32)
    left, before = len(np.unique(rounded)), len(np.unique(_standardized(values).astype(np.float32)))
    if left < 0.95 * before:  # a coincidence is none
        raise DataError(
            f"{table.path}: {name}: {before:,} distinct cells are {left:,} in float32; {hint}"
        )
    return rounded
