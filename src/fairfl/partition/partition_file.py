"""The file of a partition: which client has which row of the data, in which part. It is checked when it is read."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from fairfl.runtime.errors import DataError
from fairfl.values.json_text import from_text
from fairfl.values.result_files import ClientId
from fairfl.values.tables import arrow, check_columns

# Parts of a client's rows; column `part` holds their numbers.
PARTS = ("train", "validation", "test")

_NEEDED = ("row", "client", "part")


@dataclass(frozen=True)
class Partition:
    """Columns [n] int64 by name: row, client, part; where there are any, turn (quarter turns) and label (noisy)."""

    columns: dict[str, np.ndarray]
    clients: int
    clusters: list[int] | None  # true cluster of each client, [K], from 0; None: not known
    changed: list[str]  # what the dealing had to change, in words
    owners: list[str]  # name of each client's owner, [K]; []: not known

    def only(self, client: int) -> "Partition":
        """The rows of a single client, as client 0."""
        mine = self.columns["client"] == client
        columns = {name: values[mine] for name, values in self.columns.items()}
        columns["client"] = np.zeros_like(columns["client"])
        clusters = None if self.clusters is None else [self.clusters[client]]
        return Partition(columns, 1, clusters, self.changed, self.owners[client : client + 1])


def read(path: Path, rows: int | None = None) -> Partition:
    """Read the partition of a data set with this number of `rows`; None: with any number.

    Raises:
        DataError: the file is damaged, or is not a partition of these data.
        OSError: it cannot be read.
    """
    table = arrow(path)
    names = (*_NEEDED, *(name for name in ("turn", "label") if name in table.column_names))
    columns = {name: _whole_numbers(path, table, name) for name in names}
    _check_range(path, columns, "row", np.inf if rows is None else rows - 1)
    _check_range(path, columns, "part", len(PARTS) - 1)
    _check_range(path, columns, "turn", 3)
    ascending = np.sort(columns["row"])
    if len(twice := ascending[1:][ascending[1:] == ascending[:-1]]):
        raise _damaged(path, f"row {twice[0]} is assigned twice")
    sizes = _sizes(path, columns)
    changed, owners = (
        from_text((table.schema.metadata or {}).get(key, b"[]"), list[str], str(path))
        for key in (b"changed", b"owners")
    )
    if owners and len(owners) != len(sizes):
        raise _damaged(path, f"its owners are not one for each of {len(sizes)} clients")
    return Partition(columns, len(sizes), _clusters(path, table, len(sizes)), changed, owners)


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"{path}: damaged ({what}); delete it and run again")


def _whole_numbers(path: Path, table: pa.Table, name: str) -> np.ndarray:
    check_columns(path, table, name)
    if not pa.types.is_integer(table[name].type):
        raise _damaged(path, f"column {name!r} is {table[name].type}")
    return (
        table[name].to_numpy().astype(np.int64, copy=False)
    )  # what 64 bits with a sign cannot hold becomes negative


def _check_range(path: Path, columns: dict[str, np.ndarray], name: str, highest: float) -> None:
    values = columns.get(name, np.zeros(0, dtype=int))
    wrong = (values < 0) | (values > highest)
    if wrong.any():
        raise _damaged(
            path,
            f"{name} is {values[wrong.argmax()]} in line {wrong.argmax()}; expected 0..{highest}",
        )


def _sizes(path: Path, columns: dict[str, np.ndarray]) -> np.ndarray:
    """Rows of each client."""
    client = columns["client"]
    if not len(client):
        raise _damaged(path, "no rows")
    # There are no more clients than rows, so their highest number is no promise of memory.
    _check_range(path, columns, "client", len(client) - 1)
    sizes = np.bincount(client)
    if not sizes.all():
        raise _damaged(path, f"client {sizes.argmin()} has no rows")
    return sizes


def _clusters(path: Path, table: pa.Table, clients: int) -> list[int] | None:
    text = (table.schema.metadata or {}).get(b"clusters")
    if text is None:
        return None
    clusters = from_text(text, list[ClientId], f"{path}: clusters")
    if len(clusters) != clients:
        raise _damaged(path, f"its clusters are not one whole number for each of {clients} clients")
    return clusters
