"""The Python form of CIFAR-10 and CIFAR-100: pickled batches in a tar archive.

A batch is a pickle of Python 2: a dict with ``data``, a uint8 array [rows, 3072] (32 x 32 red, then
green, then blue values), and a list of labels (Krizhevsky 2009,
https://www.cs.toronto.edu/~kriz/cifar.html). Checksums vouch for the archives, so their contents are not
checked again.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data.formats import archives


def read(path: Path, batches: Iterable[str], key: str) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 [N, 3, 32, 32] and labels int64 [N] of some batches, one after the other.

    Args:
        batches: their names in the archive.
        key: the entry of a batch with its labels.
    """
    contents = dict(archives.members(path, set(batches).__contains__))
    loaded = [_Unpickler(io.BytesIO(contents[name]), encoding="bytes").load() for name in batches]
    images = np.concatenate([batch[b"data"].values() for batch in loaded])
    return images.reshape(-1, 3, 32, 32), np.concatenate([batch[key.encode()] for batch in loaded])


class _Object:
    """What a pickle says of an object, in place of the object: of an array, and within it of its dtype."""

    state: Any

    def __init__(self, *_: Any) -> None:
        """The pickle always begins with an empty object and sets its state later."""

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def values(self) -> np.ndarray:
        """uint8, if the object is an array."""
        _, shape, _, by_columns, data = self.state
        return np.frombuffer(data, np.uint8).reshape(shape, order="F" if by_columns else "C")


class _Unpickler(pickle.Unpickler):
    """Numpy has moved what the pickles refer to; and a pickle is a program, which here cannot call anything."""

    def find_class(self, module: str, name: str) -> type[_Object]:
        return _Object
