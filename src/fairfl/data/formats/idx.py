"""IDX, the format of MNIST and its kin.

A header (two zero bytes, type 8 for unsigned bytes, number of dimensions, the dimensions as
big-endian 32-bit numbers), then the values. Source: the MNIST page of LeCun, Cortes and Burges.
"""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fairfl.data.formats.archives import DAMAGE
from fairfl.runtime.errors import DataError

_MAX_ITEMS = 1_000_000


def read_images(stream: BinaryIO, name: str, height: int, width: int) -> np.ndarray:
    """uint8 [N, height, width] from a decompressed stream; ``name`` is for messages.

    Raises:
        DataError: header, shape or length is not as expected, or the stream is damaged.
    """
    return _read(stream, name, (height, width))


def read_labels(stream: BinaryIO, name: str, lowest: int, highest: int) -> np.ndarray:
    """int64 [N] from a decompressed stream; values as stored, within [lowest, highest].

    Raises:
        DataError: header, length or a value is not as expected, or the stream is damaged.
    """
    values = _read(stream, name, ()).astype(np.int64)
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


def _read(stream: BinaryIO, name: str, item: tuple[int, ...]) -> np.ndarray:
    """uint8 [N, *item]."""
    dims = 1 + len(item)
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
        if not 0 < shape[0] <= _MAX_ITEMS:
            raise DataError(f"{name}: IDX header gives the shape {list(shape)}")
        if shape[1:] != item:
            sides_read, sides_wanted = ("x".join(map(str, sides)) for sides in (shape[1:], item))
            raise DataError(f"{name}: images are {sides_read}; expected {sides_wanted}")
        total = int(np.prod(shape, dtype=np.int64))
        data = stream.read(total)
        surplus = stream.read(1)
    except DAMAGE as error:
        raise DataError(f"{name}: damaged gzip data ({error})") from error
    if len(data) != total or surplus:
        values = f"more than {total}" if surplus else str(len(data))
        raise DataError(f"{name}: {values} values; the header promises {total}")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)
