"""The Python form of CIFAR-10 and CIFAR-100: pickled batches in a tar archive.

A batch is a pickle of Python 2: a dict with ``data``, a uint8 array [rows, 3072] (32 x 32 red, then
green, then blue values), and a list of labels (Krizhevsky 2009,
https://www.cs.toronto.edu/~kriz/cifar.html). A pickle is a program. This one may build dicts, lists,
numbers, texts and one kind of object, a description of an array; everything else is refused. Not even
the classes of numpy are lent to it: numpy.ndarray takes any bytes for pointers to objects.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data.formats import archives
from fairfl.runtime.errors import DataError
from fairfl.runtime.plain import one_line

_MAX_BYTES = 256 * 2**20


def read(path: Path, folder: str, rows: dict[str, int], key: str, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 [N, 3, 32, 32] and labels int64 [N] of some batches, one after the other.

    Args:
        folder: the archive's folder that holds the batches.
        rows: number of images in each batch to read, in the order of the result.
        key: the batch's entry with the labels.

    Raises:
        DataError: the archive or a batch is damaged, incomplete or not as expected.
    """
    sizes = {f"{folder}/{name}": count for name, count in rows.items()}
    batches = {}
    for name, data in archives.members(path, sizes.__contains__, _MAX_BYTES):
        batches[name] = _batch(name, data, sizes[name], key, classes)
    missing = [name for name in sizes if name not in batches]
    if missing:
        raise DataError(f"{path.name}: has no file {missing[0]}")
    pairs = [batches[name] for name in sizes]
    return np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])


def _batch(name: str, data: bytes, rows: int, key: str, classes: int) -> tuple[np.ndarray, np.ndarray]:
    batch = _unpickled(name, data)
    if not isinstance(batch, dict):
        raise DataError(f"{name}: holds a {type(batch).__name__}; expected a dict")
    images, labels = batch.get(b"data"), batch.get(key.encode())
    if not isinstance(images, _Array):
        raise DataError(f"{name}: data are {type(images).__name__}; expected an array")
    if not isinstance(labels, list) or not all(type(label) is int and 0 <= label < classes for label in labels):
        raise DataError(f"{name}: {key} are not a list of whole numbers within 0..{classes - 1}")
    if len(labels) != rows:
        raise DataError(f"{name}: has {len(labels)} labels; expected {rows}")
    return images.values(name, (rows, 3 * 32 * 32)).reshape(rows, 3, 32, 32), np.array(labels, dtype=np.int64)


def _unpickled(name: str, data: bytes) -> Any:
    try:
        # Texts of Python 2 are bytes.
        return _Unpickler(io.BytesIO(data), encoding="bytes").load()
    except Exception as error:  # a damaged pickle may raise nearly anything
        raise DataError(f"{name}: not a batch of CIFAR ({one_line(str(error))})") from error


class _Array:
    """What a pickle says of a numpy array, in place of the array itself."""

    state: Any = None

    def __init__(self, *_: Any) -> None:
        """The pickle always begins with an empty array and sets its state later."""

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def values(self, name: str, shape: tuple[int, int]) -> np.ndarray:
        """uint8 values; raises DataError unless the array is of this type and shape."""
        try:
            _, stored, kind, by_columns, data = self.state
            if (stored, kind.name, len(data)) == (shape, b"u1", shape[0] * shape[1]):
                return np.frombuffer(data, np.uint8).reshape(shape, order="F" if by_columns else "C")
            kind = kind.name.decode() if isinstance(kind.name, bytes) else kind.name
            description = f"{kind} {stored} with {len(data)} bytes"
        except (TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{name}: data are not an array of numpy") from error
        raise DataError(f"{name}: data are {description}; expected u1 {shape}")


class _Kind:
    """What a pickle says of a numpy dtype, in place of the dtype itself."""

    def __init__(self, name: Any, *_: Any) -> None:
        self.name = name

    def __setstate__(self, _: Any) -> None:
        """Byte order and layout: nothing that a single byte has."""


class _Unpickler(pickle.Unpickler):
    _STAND_INS = {
        ("numpy.core.multiarray", "_reconstruct"): _Array,
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Kind,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._STAND_INS:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return self._STAND_INS[module, name]
