"""IDX, the format of MNIST and its kin.

A header (two zero bytes, type 8 for unsigned bytes, number of dimensions, the dimensions as
big-endian 32-bit numbers), then the values. Source: the MNIST page of LeCun, Cortes and Burges.
"""

from __future__ import annotations

import gzip
import struct
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fairfl.errors import DataError

_MAX_ITEMS = 1_000_000
_MAX_SIDE = 256


def read_images(stream: BinaryIO, name: str, height: int, width: int) -> np.ndarray:
    """uint8 [N, height, width] from a decompressed stream; ``name`` is for messages.

    Raises:
        DataError: header, shape or length is not as expected, or the stream is damaged.
    """
    values = _read(stream, name, 3)
    if values.shape[1:] != (height, width):
        found = "x".join(map(str, values.shape[1:]))
        raise DataError(f"{name}: images are {found}; expected {height}x{width}")
    return values


def read_labels(stream: BinaryIO, name: str, lowest: int, highest: int) -> np.ndarray:
    """int64 [N] from a decompressed stream; values as stored, within [lowest, highest].

    Raises:
        DataError: header, length or a value is not as expected, or the stream is damaged.
    """
    values = _read(stream, name, 1).astype(np.int64)
    wrong = (values < lowest) | (values > highest)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(f"{name}: label {row} is {values[row]}; expected {lowest}..{highest}")
    return values


def read_pair(images: Path, labels: Path, height: int, width: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 [N, height, width] and labels int64 [N] from two gzip files.

    Raises:
        DataError: a file is damaged or the two counts differ.
        OSError: a file cannot be opened.
    """
    with gzip.open(images) as stream:
        pixels = read_images(stream, images.name, height, width)  # type: ignore[arg-type]
    with gzip.open(labels) as stream:
        targets = read_labels(stream, labels.name, 0, classes - 1)  # type: ignore[arg-type]
    check_counts(images.name, pixels, labels.name, targets)
    return pixels, targets


def check_counts(images: str, pixels: np.ndarray, labels: str, targets: np.ndarray) -> None:
    """Raise DataError unless there is one label for each image."""
    if len(pixels) != len(targets):
        raise DataError(f"{images} has {len(pixels)} images but {labels} has {len(targets)} labels")


def _read(stream: BinaryIO, name: str, dims: int) -> np.ndarray:
    try:
        head, expected = stream.read(4), bytes((0, 0, 8, dims))
        if head != expected:
            found = head.hex() or "missing"
            raise DataError(f"{name}: IDX header is {found}; expected {expected.hex()}")
        sizes = stream.read(4 * dims)
        if len(sizes) != 4 * dims:
            raise DataError(f"{name}: IDX header is cut off")
        shape = struct.unpack(f">{dims}I", sizes)
        # The header is checked before memory is set aside for what it promises.
        if not 0 < shape[0] <= _MAX_ITEMS or any(not 0 < s <= _MAX_SIDE for s in shape[1:]):
            raise DataError(f"{name}: IDX header gives the shape {list(shape)}")
        total = int(np.prod(shape, dtype=np.int64))
        data = stream.read(total)
        surplus = stream.read(1)
    except (EOFError, OSError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(f"{name}: damaged gzip data ({error})") from error
    if len(data) != total or surplus:
        found = f"more than {total}" if surplus else str(len(data))
        raise DataError(f"{name}: {found} values; the header promises {total}")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)
