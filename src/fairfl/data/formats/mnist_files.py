"""IDX, the format of MNIST and its kin, and the four files in which MNIST and Fashion-MNIST come.

Checksums vouch for the files of all data sets in this format, so their contents are not checked again.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO

import numpy as np

from fairfl.data.checks import find_form, usable
from fairfl.data.interface import RemoteFile

CLASSES = 10
NAMES = [
    f"{part}-{kind}-ubyte.gz"
    for part in ("train", "t10k")
    for kind in ("images-idx3", "labels-idx1")
]

_CHOSEN = {"train": slice(2), "test": slice(2, 4), "all": slice(4)}


class MnistFiles:
    """The four files of a data set, NAMES.

    Args:
        hosts: beginnings of their addresses.
        unpacked: sha256 of the four files as they are unpacked, which will do as well.
        digests: of each accepted packed form, the sha256 of the four files.
    """

    def __init__(
        self,
        dataset: str,
        hosts: tuple[str, ...],
        unpacked: tuple[str, ...],
        *digests: tuple[str, ...],
    ) -> None:
        self._files = [
            RemoteFile(
                name,
                tuple(host + name for host in hosts),
                sha256,
                magic="gzip",
                folder=dataset,
                instead=RemoteFile(name.removesuffix(".gz"), (), (plain,), folder=dataset),
            )
            for name, plain, sha256 in zip(NAMES, unpacked, zip(*digests, strict=True), strict=True)
        ]

    def of(self, part: str) -> tuple[RemoteFile, ...]:
        """Files of a part: images, then labels, train before test."""
        return tuple(self._files[_CHOSEN[part]])

    def read(self, raw: Path | None, part: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Images uint8 [N, 28, 28], labels int64 [N], and of part "all" which rows are the test part's, bool [N].

        Raises:
            SourceError: a file is missing or damaged.
        """
        files = (find_form(raw, file, file.folder) for file in self.of(part))
        arrays = [read_idx(usable(raw, file, file.folder)) for file in files]
        labels = np.concatenate(arrays[1::2]).astype(np.int64)
        test = np.arange(len(labels)) >= len(arrays[0]) if part == "all" else None
        return np.concatenate(arrays[::2]), labels, test


def read_idx(file: Path | IO[bytes]) -> np.ndarray:
    """uint8 array of a file, packed by gzip or not. Source of the format: the MNIST page of LeCun, Cortes and Burges.

    A header (two zero bytes, type 8 for unsigned bytes, number of dimensions, the dimensions as big-endian 32-bit
    numbers), then the values.
    """
    if isinstance(file, Path) and file.suffix != ".gz":
        data = file.read_bytes()
    else:
        with gzip.open(file) as stream:
            data = stream.read()
    shape = np.frombuffer(data, ">u4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + shape.nbytes).reshape(shape)
