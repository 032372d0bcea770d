"""The databases of TensorFlow Federated: users and their examples, in SQLite, packed with LZMA.

The tables are ``examples`` (split_name, client_id, serialized_example_proto) and ``client_metadata`` (client_id,
split_name, num_examples). An example is a serialized tf.train.Example, which is read here without TensorFlow.
"""

from __future__ import annotations

import contextlib
import lzma
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fairfl.runtime.errors import DataError
from fairfl.runtime.plain_data import one_line, shown

_CHUNK = 1 << 20
# Field numbers of the kinds of lists in a tf.train.Feature.
_BYTES, _FLOATS, _WHOLE = 1, 2, 3
_TABLES = ("examples", "client_metadata")


@contextlib.contextmanager
def database(packed: Path, largest: int) -> Iterator[sqlite3.Connection]:
    """The unpacked database, for reading, in a temporary folder beside the packed one; it is gone afterwards.

    Args:
        largest: allowed size of the unpacked database in bytes.

    Raises:
        DataError: the file is damaged or too large, or what is asked of the database is not there.
        OSError: it cannot be unpacked.
    """
    with tempfile.TemporaryDirectory(prefix=f".{packed.stem}-", dir=packed.parent) as folder:
        path = Path(folder, packed.stem).resolve()
        _unpack(packed, path, largest)
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as opened:
            try:
                _check_tables(opened)
                yield opened
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise DataError(f"{packed.name}: not the database that is expected ({one_line(str(error))})") from error
            except _Unexpected as error:
                raise DataError(f"{packed.name}: {error}") from error


def _unpack(packed: Path, path: Path, largest: int) -> None:
    try:
        with lzma.open(packed) as stream, path.open("wb") as out:
            while chunk := stream.read(_CHUNK):
                if out.tell() + len(chunk) > largest:
                    raise DataError(f"{packed.name}: unpacks to more than {largest} bytes")
                out.write(chunk)
    except (lzma.LZMAError, EOFError) as error:
        raise DataError(f"{packed.name}: damaged LZMA file ({error})") from error


def _check_tables(opened: sqlite3.Connection) -> None:
    """A view of the same name is a program, which may run for ever."""
    types = dict(opened.execute("SELECT name, type FROM sqlite_master"))
    for name in _TABLES:
        if types.get(name) != "table":
            raise _Unexpected(f"not the database that is expected (no table {name})")


def users(opened: sqlite3.Connection, split: str) -> list[tuple[str, int]]:
    """Id of each user of a split and the number of examples, by id. `database` raises DataError for other values."""
    query = "SELECT client_id, num_examples FROM client_metadata WHERE split_name = ? ORDER BY client_id"
    rows = opened.execute(query, [split]).fetchall()
    for user, count in rows:
        if not isinstance(user, str) or not isinstance(count, int) or count < 0:
            raise _Unexpected(f"user {shown(user)} has {shown(count)} examples; expected a name and a whole number")
    if len({user for user, _ in rows}) < len(rows):
        raise _Unexpected(f"a user is given twice in {split}")
    return rows


def examples(opened: sqlite3.Connection, split: str, user: str) -> Iterator[bytes]:
    """Examples of a user, serialized, in stored order. `database` raises DataError for other values."""
    query = "SELECT serialized_example_proto FROM examples WHERE split_name = ? AND client_id = ? ORDER BY rowid"
    for (example,) in opened.execute(query, [split, user]):
        if not isinstance(example, bytes):
            raise _Unexpected(f"an example of user {shown(user)} is {shown(example)}; expected bytes")
        yield example


def text(example: bytes, name: str) -> bytes:
    """The value of a feature that is one string. Without it, `database` raises DataError."""
    return _feature(example, name, _BYTES)


def floats(example: bytes, name: str) -> np.ndarray:
    """float32 [n], the values of a feature. Without it, `database` raises DataError."""
    packed = _feature(example, name, _FLOATS)
    if len(packed) % 4:
        raise _Unexpected(f"{name!r} has {len(packed)} bytes; expected numbers of four bytes each")
    return np.frombuffer(packed, "<f4")


def whole(example: bytes, name: str) -> int:
    """The value of a feature that is one whole number. Without it, `database` raises DataError."""
    packed = _feature(example, name, _WHOLE)
    value, end = _varint(packed, 0)
    if end != len(packed):
        raise _Unexpected(f"{name!r} is not one whole number")
    return value


class _Unexpected(Exception):
    """The database holds something else than it is said to."""


def _feature(example: bytes, name: str, kind: int) -> bytes:
    """The value of a feature in a serialized tf.train.Example: a string, or packed numbers.

    Example: features = 1. Features: map entries = 1. Entry: key = 1, Feature = 2. Feature: BytesList = 1,
    FloatList = 2 or Int64List = 3, whose values = 1 (tensorflow/core/example/feature.proto).
    """
    for _, features in _fields(example):
        for _, entry in _fields(features):
            parts = dict(_fields(entry))
            if parts.get(1) == name.encode():
                values = dict(_fields(parts.get(2, b""))).get(kind)
                value = None if values is None else dict(_fields(values)).get(1)
                if value is not None:
                    return value
    raise _Unexpected(f"an example is not stored as a tf.train.Example with {name!r}")


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of the length-delimited fields of a protocol buffer message; other fields are passed over."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            _, at = _varint(message, at)
        elif kind in (1, 5):  # 64 and 32 bits
            at += 8 if kind == 1 else 4
        elif kind == 2:
            length, at = _varint(message, at)
            yield key >> 3, message[at : at + length]
            at += length
        else:
            at = len(message) + 1
    if at > len(message):
        raise _Unexpected("an example is not a protocol buffer message")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Value of a number of seven bits per byte, lowest first, and where it ends."""
    value = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return value, len(message) + 1
