"""Reading tables that jobs wrote: a damaged one is one clear line that names the file, and the line where it is."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fairfl.runtime import inputs
from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import shown
from fairfl.runtime.validation import nearest

if TYPE_CHECKING:
    import pyarrow as pa


REMARK = "# "  # how the lines begin that stand above a table


def remarks_of(handle: TextIO) -> list[str]:
    """The remarks above a CSV file's header, which is read next. The file must be seekable."""
    remarks: list[str] = []
    while True:
        start = handle.tell()
        line = handle.readline()
        if not line.startswith(REMARK):
            handle.seek(start)
            return remarks
        remarks.append(line.removeprefix(REMARK).strip())


def rows(
    path: Path, columns: Mapping[str, type], remedy: str | None = "; delete it and run again"
) -> Iterator[tuple[str, dict[str, str]]]:
    """('file, line N', row) of a CSV file that has these columns: str, int, or float that may be empty.

    Raises OSError if it cannot be read, FairflError on a missing column, a torn row or a cell of another type. `remedy`
    for a missing column: None names the nearest one, for files that are not made by a job.
    """
    with io.TextIOWrapper(
        io.BytesIO(inputs.read_bytes(path)), encoding="utf-8", newline=""
    ) as handle:
        try:
            remarks = remarks_of(handle)
            reader = csv.reader(handle, strict=True)
            names = next(reader, [])
            missing = [name for name in columns if name not in names]
            if missing:
                hint = nearest(missing[0], names) if remedy is None else remedy
                raise FairflError(f"{path}: no column {missing[0]!r}{hint}")
            numbers = [(names.index(n), n, kind) for n, kind in columns.items() if kind is not str]
            for cells in filter(None, reader):  # not of empty lines
                where = f"{path}, line {len(remarks) + reader.line_num}"
                if len(cells) != len(names):
                    raise FairflError(f"{where}: expected {len(names)} cells")
                for place, name, kind in numbers:
                    _check(where, name, cells[place], kind)
                yield where, dict(zip(names, cells, strict=True))
        except (csv.Error, UnicodeDecodeError) as error:
            raise FairflError(f"{path}: not a CSV file in UTF-8: {error}") from None


def _check(where: str, name: str, cell: str, kind: type) -> None:
    try:
        kind(cell)
    except ValueError:
        if kind is not float or cell.strip():
            expected = "a whole number" if kind is int else "a number"
            raise FairflError(f"{where}: {name}: {shown(cell)} is not {expected}") from None


def arrow(path: Path) -> "pa.Table":
    """A table in parquet. Raises OSError if it cannot be read, FairflError if it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.is_dir():
        raise FairflError(f"{path}: damaged (a folder); delete it and run again")
    try:
        data = inputs.read(path)
        if isinstance(data, pa.Table):
            return data
        # read_table would import pandas, a quarter of a second
        return pq.ParquetFile(pa.BufferReader(data)).read()
    except FileNotFoundError:
        raise
    except (
        pa.ArrowException,
        OSError,
        ValueError,
    ) as error:  # ValueError: names of columns that are no text
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FairflError(f"{path}: damaged ({reason}); delete it and run again") from None


def check_columns(path: Path, table: "pa.Table", *columns: str) -> None:
    """Raises FairflError unless the columns are there and hold numbers, whole ones without empty cells."""
    import pyarrow as pa

    for name in columns:
        if name not in table.column_names:
            raise FairflError(f"{path}: damaged (no column {name!r}); delete it and run again")
        kind, empty = table[name].type, table[name].null_count
        if not (pa.types.is_floating(kind) or (pa.types.is_integer(kind) and not empty)):
            problem = f"column {name!r} is {kind} with {empty} empty cells"
            raise FairflError(f"{path}: damaged ({problem}); delete it and run again")
