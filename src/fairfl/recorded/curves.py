"""Metrics of many trainings as one table, and one of them back again, equal to the bit."""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

KEY = "entry"  # the column that says whose lines they are


def digest(table: "pa.Table") -> str:
    """First 16 hex digits of the sha256 of names, types and values; not of how parquet has stored them."""
    state = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        state.update(f"{name}:{column.type}:{len(column)}:{column.null_count};".encode())
        state.update(column.to_numpy().tobytes())
    return state.hexdigest()[:16]


def joined(tables: dict[str, "pa.Table"]) -> "pa.Table":
    """All tables below each other, in the order of their keys, with a column `entry`."""
    import pyarrow as pa

    parts = []
    for key, table in sorted(tables.items()):
        keys = pa.DictionaryArray.from_arrays(pa.repeat(0, len(table)).cast(pa.int32()), [key])
        parts.append(table.replace_schema_metadata().add_column(0, KEY, keys))
    return (
        pa.concat_tables(parts, promote_options="permissive").unify_dictionaries().combine_chunks()
    )


def ordered(table: "pa.Table", parts: Sequence[str]) -> "pa.Table":
    """With the columns as a training writes them, part by part; in a table of many the first one orders them."""

    def place(name: str) -> int:
        part = name.rpartition("_")[2]
        return 1 + parts.index(part) if part in parts else 0

    return table.select(sorted(table.column_names, key=place))


def separated(table: "pa.Table") -> dict[str, "pa.Table"]:
    """The reverse of `joined`: by key, without columns that a table did not have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    runs = pc.run_end_encode(table[KEY].cast(pa.string()).combine_chunks())
    parts, first = {}, 0
    for key, last in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        part = table.slice(first, last - first).drop_columns([KEY])
        absent = [name for name in part.column_names if part[name].null_count == len(part)]
        parts[key], first = part.drop_columns(absent).combine_chunks(), last
    return parts
