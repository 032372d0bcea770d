"""IDX, the format of MNIST and its kin, and the four files in which MNIST and Fashion-MNIST come.

Checksums vouch for the files of all data sets in this format, so their contents are not checked again.
"""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

from fairfl.data.checks import usable
from fairfl.data.interface import RemoteFile

CLASSES = 10

_PREFIXES = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}


def names(part: str) -> list[str]:
    """Names of the files of a part: images, then labels, train before test."""
    kinds = ("images-idx3", "labels-idx1")
    return [f"{prefix}-{kind}-ubyte.gz" for prefix in _PREFIXES[part] for kind in kinds]


def described(dataset: str, hosts: tuple[str, ...], *digests: tuple[str, ...]) -> dict[str, RemoteFile]:
    """The four files by name.

    Args:
        hosts: beginnings of their addresses.
        digests: of each accepted form, the sha256 of the four files in the order of `names`.
    """
    return {
        name: RemoteFile(name, tuple(host + name for host in hosts), sha256=sha256, magic="gzip", folder=dataset)
        for name, sha256 in zip(names("all"), zip(*digests, strict=True), strict=True)
    }


def read(raw: Path | None, files: dict[str, RemoteFile], part: str) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 [N, 28, 28] and labels int64 [N] of a part, train rows first.

    Raises:
        SourceError: a file is missing or damaged.
    """
    arrays = []
    for name in names(part):
        with gzip.open(usable(raw, files[name], files[name].folder)) as stream:
            arrays.append(read_idx(stream))
    return np.concatenate(arrays[::2]), np.concatenate(arrays[1::2]).astype(np.int64)


def read_idx(stream: gzip.GzipFile) -> np.ndarray:
    """uint8 array. Source of the format: the MNIST page of LeCun, Cortes and Burges.

    A header (two zero bytes, type 8 for unsigned bytes, number of dimensions, the dimensions as big-endian 32-bit
    numbers), then the values.
    """
    dimensions = stream.read(4)[3]
    shape = struct.unpack(f">{dimensions}I", stream.read(4 * dimensions))
    return np.frombuffer(stream.read(), np.uint8).reshape(shape)
