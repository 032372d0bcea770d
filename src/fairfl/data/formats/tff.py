"""The databases of TensorFlow Federated: users and their examples, in SQLite, packed with LZMA.

The tables are ``examples`` (split_name, client_id, serialized_example_proto) and ``client_metadata`` (client_id,
split_name, num_examples). An example is a serialized tf.train.Example, which is read here without TensorFlow.
"""

from __future__ import annotations

import contextlib
import lzma
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fairfl.data.formats.archives import damaged
from fairfl.runtime.errors import DataError
from fairfl.runtime.plain_data import one_line

# Field numbers of the kinds of lists in a tf.train.Feature.
_BYTES, _FLOATS, _WHOLE = 1, 2, 3


@contextlib.contextmanager
def open_database(packed: Path) -> Iterator[sqlite3.Connection]:
    """The unpacked database, for reading, in a temporary folder beside the packed one; it is gone afterwards.

    Raises:
        DataError: the file is damaged, or what is asked of the database is not there.
        OSError: it cannot be unpacked.
    """
    with tempfile.TemporaryDirectory(prefix=f".{packed.stem}-", dir=packed.parent) as folder:
        path = Path(folder, packed.stem).resolve()
        try:
            with lzma.open(packed) as stream, path.open("wb") as out:
                shutil.copyfileobj(stream, out)
        except (lzma.LZMAError, EOFError) as error:
            raise damaged(packed, error) from error
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as opened:
            try:
                yield opened
            except (sqlite3.Error, ValueError, LookupError, TypeError) as error:
                raise DataError(
                    f"{packed.name}: not the database that is expected ({one_line(str(error))})"
                ) from error


def list_users(opened: sqlite3.Connection, split: str) -> list[tuple[str, int]]:
    """Id of each user of a split and the number of examples, by id."""
    query = "SELECT client_id, num_examples FROM client_metadata WHERE split_name = ? ORDER BY client_id"
    return opened.execute(query, [split]).fetchall()


def read_examples(opened: sqlite3.Connection, split: str, user: str) -> Iterator[bytes]:
    """Examples of a user, serialized, in stored order."""
    query = "SELECT serialized_example_proto FROM examples WHERE split_name = ? AND client_id = ? ORDER BY rowid"
    for (example,) in opened.execute(query, [split, user]):
        yield example


def read_text(example: bytes, name: str) -> bytes:
    """The value of a feature that is one string. Without it, `database` raises DataError."""
    return _read_feature(example, name, _BYTES)


def read_floats(example: bytes, name: str) -> np.ndarray:
    """float32 [n], the values of a feature. Without it, `database` raises DataError."""
    return np.frombuffer(_read_feature(example, name, _FLOATS), "<f4")


def read_whole(example: bytes, name: str) -> int:
    """The value of a feature that is one whole number. Without it, `database` raises DataError."""
    return _read_varint(_read_feature(example, name, _WHOLE), 0)[0]


def _read_feature(example: bytes, name: str, kind: int) -> bytes:
    """The value of a feature in a serialized tf.train.Example: a string, or packed numbers.

    Example: features = 1. Features: map entries = 1. Entry: key = 1, Feature = 2. Feature: BytesList = 1,
    FloatList = 2 or Int64List = 3, whose values = 1 (tensorflow/core/example/feature.proto).
    """
    for _, features in _split_fields(example):
        for _, entry in _split_fields(features):
            parts = dict(_split_fields(entry))
            if parts.get(1) == name.encode():
                return dict(_split_fields(dict(_split_fields(parts[2]))[kind]))[1]
    raise ValueError(f"an example is not stored as a tf.train.Example with {name!r}")


def _split_fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of the length-delimited fields of a protocol buffer message; other fields are passed over."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        if key & 7 == 2:
            length, at = _read_varint(message, at)
            yield key >> 3, message[at : at + length]
            at += length
        elif key & 7 == 0:
            _, at = _read_varint(message, at)
        else:
            at += 8 if key & 7 == 1 else 4


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    """Value of a number of seven bits per byte, lowest first, and where it ends."""
    value = shift = 0
    while message[at] >= 0x80:
        value |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | message[at] << shift, at + 1
