"""Your tables: CSV files with a header and one sample per line, whatever the types of the columns are."""

import csv
import io
import itertools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.runtime.errors import DataError
from fairfl.runtime.plain_data import few, shown
from fairfl.runtime.validation import nearest

if TYPE_CHECKING:  # plans read declarations, which need no pandas
    import pandas as pd

Task = Literal["classes", "number"] | None
Missing = Literal["drop", "mean"] | None
Words = Sequence[str | float]
# In lower case: those of pandas, and the mark that UCI's files have.
_EMPTY = "|#n/a|#n/a n/a|#na|-1.#ind|-1.#qnan|-nan|1.#ind|1.#qnan|<na>|n/a|na|nan|none|null|?"
MISSING = frozenset(_EMPTY.split("|"))
# float() would take 2024_3 and digits of other scripts as well, which no CSV means.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Of names: 48e12 may be a pseudonym of hexadecimal digits. Programs write a sign before an exponent.
_NUMBER_AS_NAME = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-][0-9]{1,3})?")
# Lines that show at which sign a file is split, and digits from which a number may not be one of float64.
_FIRST_LINES, _DIGITS = 100, 15
_END = "\0"  # a line behind the last one, which a quote that is not closed swallows
# How pandas, and R's readr, call the column of row numbers that has no name.
_NAMELESS = re.compile(r"(unnamed[:_. ]+\d.*|\.\.\.\d+)?", re.IGNORECASE)


def local_file(name: str) -> RemoteFile:
    """A file in the data folder, or in a mirror, which it is copied from. It needs no checksum: what it says counts."""
    return RemoteFile(name)


class _Table(NamedTuple):
    """Cells as text, NaN where they are missing, [N, columns]; the index is a sample's number in the file."""

    path: Path
    cells: "pd.DataFrame"

    def refuse(self, name: str, is_wrong: Sequence[bool] | np.ndarray, what: str) -> None:
        """Raises DataError for the first cell of a column that is wrong, bool [N]; `what` follows the cell."""
        for number, cell in self.cells[name][is_wrong].items():
            raise DataError(f"{self.path}: sample {number}: {name}: {shown(cell)} {what}")


def read(
    dataset: str,
    path: Path,
    label: str,
    features: Sequence[str] | None = None,
    client: str | None = None,
    cluster: str | None = None,
    categories: Sequence[str] = (),
    task: Task = None,
    missing: Missing = None,
    na_values: Words | Mapping[str, Words] = (),
    keep_default_na: bool = True,
    standardize: bool = False,
) -> Prepared:
    """inputs float32 [N, d] of the columns `features` (None: all but label, client and cluster), in this order.

    The distinct labels, numbers before words and sorted, are the classes 0, 1, ...; with task `number` a label
    is the float32 to predict. The distinct words of the column `client`, in order of appearance, are the owners
    0, 1, ..., and `cluster` says of which cluster each owner is. Numbers of one value are one class, owner, cluster or
    category, however they are written (1, 1.0, 01, 1e+0). A feature in `categories` is a column of 0 and 1 for each of
    its words. `na_values` are of all columns, or of each that they name.

    Where cells are missing, `drop` leaves their samples out, `mean` takes the mean of the column for a feature and
    leaves out samples without label, client or cluster. `standardize` takes mean and standard deviation (of the
    population) of each number over all samples that are left, those for tests too; a constant one becomes 0. All is
    computed in float64 and rounded at the end.

    Raises:
        DataError: no such column, no two classes, a line of another length than the first, a missing cell that
            `missing` does not provide for, a cell that is not a finite number, numbers that are one in float32, or
            words that look alike.
        OSError: the file cannot be read.
    """
    keys = [name for name in (label, client, cluster) if name is not None]
    cells, separator = _read_cells(path)
    used = _select_features(path, list(cells), keys, features, categories, separator)
    words = na_values if isinstance(na_values, Mapping) else dict.fromkeys(cells, na_values)
    for name in words:
        if name not in cells:
            raise DataError(f"{path}: na_values: no column {shown(name)}{nearest(name, cells)}")
    cells = cells[list(dict.fromkeys([*keys, *used]))]
    absent = _find_missing(cells, words, keep_default_na)
    table, notes = _drop_incomplete(_Table(path, cells), absent, keys, missing)
    inputs = _make_inputs(table, used, categories, standardize)
    counts, classes = [f"{len(inputs):,} samples"], list[str]()
    if task == "number":
        hint = "subtract a constant from them in the file"
        labels = _round(table, label, *_read_numbers(table, label), hint)
    else:
        labels, classes = _number_labels(table, label, task)
        counts.append(_describe("classes", classes))
    owners = clusters = names = None
    if client is not None:
        owners, names = _number_words(table, client, ordered=False)
        same = ", who are the classes" if client == label else ""
        counts.append(_describe("owners", names) + same)
        clusters = _match_clusters(table, owners, names, cluster) if cluster else None
    if missing == "mean":
        notes.append("missing cells are means")
    if standardize:
        notes.append("standardized")
    columns = few([f"{name} (one-hot)" if name in categories else name for name in used])
    source = "; ".join([f"{path.name}: {label} from {columns}", ", ".join(counts), *notes])
    return assemble(
        dataset,
        len(classes),
        source,
        inputs,
        labels,
        client=owners,
        clusters=clusters,
        owners=names,
    )


def _describe(kind: str, words: list[str]) -> str:
    """Classes or owners in words, and that some differ in nothing but case, as TRUE and True."""
    folded = {*map(str.casefold, words)}
    case = ", of which some differ in case only" if len(folded) < len(words) else ""
    return f"{len(words)} {kind} ({few(words)}{case})"


def _guess_separator(text: str) -> str:
    """The sign that splits the header, and most lines into as many cells, outside of quotes."""
    first = "".join(itertools.islice(io.StringIO(text, newline=""), _FIRST_LINES))

    def alike(sign: str) -> tuple[int, int]:
        header, *counts = [len(cells) for cells in _split(first, sign) if cells] or [0]
        return (counts.count(header) if header > 1 else -1), header

    return max(",;\t|", key=alike)


def _split(text: str, sign: str) -> Any:
    """The lines of a text, as `csv.reader` splits them; one cell may be all of it."""
    csv.field_size_limit(2**31 - 1)
    return csv.reader(io.StringIO(text, newline=""), delimiter=sign, skipinitialspace=True)


def _read_cells(path: Path) -> tuple["pd.DataFrame", str]:
    """All cells as text without blanks around them, and where lines are split; the index counts the samples from 1."""
    import pandas as pd

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: not UTF-8 ({error}): save it as that, from latin-1 perhaps"
        ) from None
    if _END in text:
        raise DataError(f"{path}: not text: it has zero bytes; the file may be damaged")
    separator = _guess_separator(text)
    rows, lines, begin = list[list[str]](), _split(f"{text}\n{_END}", separator), 1
    for line in lines:
        cells = [cell.strip() for cell in line]
        if cells == [_END]:
            break
        if len(cells) > 1 or any(cells):
            rows.append(cells)
            is_open, width = cells[-1].endswith(_END), len(rows[0])
            if is_open or len(cells) != width:
                cut = "" if len(cells) > width else "; the file may be cut off"
                raise DataError(
                    f"{path}: not CSV, split at {separator!r}: line {begin}: expected {width} columns, "
                    f"found {len(cells)}{', in an open quote' if is_open else ''}{cut}"
                )
        begin = lines.line_num + 1
    if len(rows) < 2:
        raise DataError(
            f"{path}: expected a header and a line per sample; lines in all: {len(rows)}"
        )
    return pd.DataFrame(rows[1:], range(1, len(rows)), rows[0]), separator


def _select_features(
    path: Path,
    names: list[str],
    keys: list[str],
    features: Sequence[str] | None,
    categories: Sequence[str],
    separator: str,
) -> list[str]:
    """The columns of features. Raises DataError for columns that are not there once, have no name or are the label."""
    named = list(filter(None, names))
    for name in (*keys, *(features or ()), *categories):
        if name not in named:
            data = any(map(_NUMBER.fullmatch, named))
            header = "; its first line must name the columns" if data else ""
            problem = f"no column {shown(name)}{header}, split at {separator!r}"
            raise DataError(f"{path}: {problem}{nearest(name, named)}")
    used = [name for name in names if name not in keys] if features is None else list(features)
    for name in filter(None, (*keys, *used)):
        if names.count(name) > 1:
            raise DataError(f"{path}: {names.count(name)} columns have the name {shown(name)}")
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


def _find_missing(
    cells: "pd.DataFrame", na_values: Mapping[str, Words], keep_default_na: bool
) -> "pd.DataFrame":
    """Cells that are missing, bool [N, columns]. A number of `na_values` is -9, -9.0 and so on."""

    def is_missing(column: "pd.Series") -> "pd.Series":
        own = map(str, na_values.get(column.name, ()))
        words = {"", *(MISSING if keep_default_na else ()), *own}
        values = {_interpret(word.lower()) for word in words}
        return column.isin([cell for cell in column.unique() if _interpret(cell.lower()) in values])

    return cells.apply(is_missing)


def _drop_incomplete(
    table: _Table, absent: "pd.DataFrame", keys: list[str], missing: Missing
) -> tuple[_Table, list[str]]:
    """The samples that have what they need, and what was left out in words."""
    path, cells = table
    needed = list(cells) if missing != "mean" else keys
    lacking = absent[needed].any(axis=1)
    if missing is None and lacking.any():
        row = lacking.idxmax()
        name = absent.loc[row, needed].idxmax()
        ways = "`missing: drop`" if name in keys else "`missing: drop` or `missing: mean`"
        word = ", or `keep_default_na: false` if it is a word like others"
        word = word if cells.at[row, name] else ""
        table.refuse(name, absent[name], f"is a missing cell; give {ways}{word}")
    if lacking.all():
        raise DataError(f"{path}: no sample is left without a missing cell in {few(needed)}")
    notes = []
    if lacking.any():
        words = sorted(map(shown, {*cells[needed].to_numpy()[absent[needed]]}))
        left_out = f"{lacking.sum():,} of {len(cells):,} samples with missing cells"
        notes = [f"{left_out} ({few(words)}) left out"]
    return _Table(path, cells.mask(absent)[~lacking]), notes


def _make_inputs(
    table: _Table, used: list[str], categories: Sequence[str], standardize: bool
) -> np.ndarray:
    """float32 [N, d]."""
    columns: list[np.ndarray] = []
    for name in used:
        if name in categories:
            codes, words = _number_words(table, name)
            _check_many(table, name, len(words), "leave it out of the features")
            columns += [
                _fill(np.where(codes < 0, np.nan, codes == place)) for place in range(len(words))
            ]
        else:
            values, away = map(_fill, _read_numbers(table, name))
            columns.append(
                _standardize(away)
                if standardize
                else _round(table, name, values, away, "give `standardize: true`")
            )
    return np.column_stack(columns).astype(np.float32)


def _number_labels(table: _Table, label: str, task: Task) -> tuple[np.ndarray, list[str]]:
    """Class of each sample, int64 [N], and the words of the classes."""
    labels, classes = _number_words(table, label)
    if len(classes) == 1:
        raise DataError(f"{table.path}: column {label!r} has one class only, {shown(classes[0])}")
    if task is None:
        _check_many(table, label, len(classes), "give `task: number` or `task: classes`")
    return labels, classes


def _match_clusters(table: _Table, owners: np.ndarray, names: list[str], cluster: str) -> list[int]:
    """True cluster of each owner."""
    codes, words = _number_words(table, cluster)
    clusters: dict[int, int] = {}
    for owner, code in zip(owners.tolist(), codes.tolist(), strict=True):
        if (first := clusters.setdefault(owner, code)) != code:
            what = (
                f"owner {shown(names[owner])} is in {shown(words[first])} and {shown(words[code])}"
            )
            raise DataError(f"{table.path}: {cluster}: {what}; expected one cluster for each owner")
    return [clusters[owner] for owner in range(len(names))]


def _number_words(table: _Table, name: str, ordered: bool = True) -> tuple[np.ndarray, list[str]]:
    """Place of each cell of a column among the distinct words, int64 [N], -1 if missing; and these words.

    Numbers of one value are one. Numbers and words are sorted, or else in order of appearance. Raises DataError for
    words that a reader cannot tell from each other.
    """
    import pandas as pd

    codes, words = pd.factorize(table.cells[name])
    keys, written, looks = list(map(_interpret, words)), dict[Any, str](), dict[str, str]()
    for key, word in zip(keys, words, strict=True):
        if (
            written.setdefault(key, word) == word
            and (other := looks.setdefault(_normalise(word), word)) != word
        ):
            raise DataError(
                f"{table.path}: {name}: {ascii(other)} and {ascii(word)} look alike: write one of them"
            )
    keys_in_order = (
        sorted(written, key=lambda key: (isinstance(key, str), key)) if ordered else written
    )
    order = {key: place for place, key in enumerate(keys_in_order)}
    return np.array([*(order[key] for key in keys), -1])[codes], [written[key] for key in order]


def _interpret(word: str) -> Decimal | str:
    """Meaning of a name: a number has one value, however it is written."""
    return Decimal(word) if _NUMBER_AS_NAME.fullmatch(word) else word


def _normalise(word: str) -> str:
    """Looks of a word to a reader: composed letters, no signs without width, blanks as one."""
    composed = unicodedata.normalize("NFC", word)
    seen = "".join(sign for sign in composed if unicodedata.category(sign) != "Cf")
    return " ".join(seen.split())


def _check_many(table: _Table, name: str, words: int, hint: str) -> None:
    """Raises DataError for a column in which nearly every sample has a different word."""
    samples = len(table.cells)
    if words == samples > 2 or (words > 10 and 2 * words > samples):
        raise DataError(f"{table.path}: {name}: {words:,} classes in {samples:,} samples; {hint}")


def _read_numbers(table: _Table, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and what each is away from the first one, both float64 [N]; NaN where a cell is missing.

    Numbers that are one in float64 are still apart in the second, such as nanoseconds since 1970.
    """
    cells = table.cells[name].astype(object)
    table.refuse(
        name,
        [isinstance(cell, str) and not _NUMBER.fullmatch(cell) for cell in cells],
        "is not a number (1.5e-3 is one); name a feature of words in `categories` or leave it out of `features`, "
        "name in `na_values` what means a missing cell",
    )
    values = cells.to_numpy(np.float64)
    table.refuse(name, np.isinf(values), "is not a finite number")
    there = cells.dropna()
    if there.empty:
        raise DataError(f"{table.path}: {name}: no sample has a value")
    first, long = there.iloc[0], {cell for cell in there if len(cell) > _DIGITS}
    if len({*map(Decimal, long)}) <= len({*map(float, long)}):
        return values, values - float(first)
    away = cells.map(lambda cell: float(Decimal(cell) - Decimal(first)), na_action="ignore")
    return values, away.to_numpy(np.float64)


def _fill(values: np.ndarray) -> np.ndarray:
    """The values of a column with their mean for each NaN."""
    absent = np.isnan(values)
    return np.where(absent, values[~absent].mean(), values)


def _standardize(away: np.ndarray) -> np.ndarray:
    """float64 [N] with mean 0 and standard deviation 1; a constant column is 0.

    They are given as what they are away from one of them, so that no column is too far from 0.
    """
    centred = away - away.mean()
    return centred / (centred.std() or 1.0)


def _round(table: _Table, name: str, values: np.ndarray, away: np.ndarray, hint: str) -> np.ndarray:
    """float32 [N]. Raises DataError for cells that are too large, and if it makes many distinct cells one."""
    too_large = np.abs(values) > np.finfo(np.float32).max
    table.refuse(name, too_large, f"is not a finite float32; {hint}")
    rounded = values.astype(np.float32)
    left, before = len(np.unique(rounded)), len(np.unique(_standardize(away).astype(np.float32)))
    if left < 0.95 * before:  # a coincidence is none
        raise DataError(
            f"{table.path}: {name}: {before:,} distinct cells are {left:,} in float32; {hint}"
        )
    return rounded
