"""The four files in which MNIST comes, and data sets that took over its form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fairfl.data.checks import usable
from fairfl.data.formats import idx
from fairfl.data.interface import RemoteFile

PARTS = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}
"""Beginnings of the file names of each part."""

CLASSES = 10


def names(part: str) -> tuple[str, ...]:
    """Names of the files of a part: images, then labels, train before test."""
    return tuple(name for prefix in PARTS[part] for name in _pair(prefix))


def read(
    raw: Path | None, dataset: str, part: str, described: Callable[[str], RemoteFile]
) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 [N, 28, 28] and labels int64 [N] of a part, train rows first.

    Args:
        described: the description of the file of this name.

    Raises:
        SourceError, DataError: a file is missing, damaged or not as expected.
    """
    pairs = []
    for prefix in PARTS[part]:
        images, labels = (usable(raw, described(name), dataset) for name in _pair(prefix))
        pairs.append(idx.read_pair(images, labels, 28, 28, CLASSES))
    return np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])


def _pair(prefix: str) -> tuple[str, str]:
    return f"{prefix}-images-idx3-ubyte.gz", f"{prefix}-labels-idx1-ubyte.gz"
