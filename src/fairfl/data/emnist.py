"""EMNIST: handwritten letters and digits, 28x28 (Cohen, Afshar, Tapson, van Schaik 2017)."""

import gzip
import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from fairfl.data.checks import usable
from fairfl.data.formats import mnist_files
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Strict

PER_SEED = False

SPLITS = {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 26, "digits": 10, "mnist": 10}
"""Classes per split."""

_ARCHIVE = RemoteFile(
    "gzip.zip",
    ("https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",),
    sha256=("fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",),
    magic="zip",
    max_bytes=1 << 30,
)


class Config(Strict):
    """Options of the data set."""

    split: Literal["byclass", "bymerge", "balanced", "letters", "digits", "mnist"] = Field(
        "byclass", description="byclass: 814255 images of 62 classes"
    )


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The one archive that holds all splits."""
    return (_ARCHIVE,)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 1, 28, 28]; training rows come first, then test rows.

    The publisher stores images with rows and columns swapped; here they are upright. Labels of
    split "letters" are 1..26 in the file and 0..25 here.

    Raises:
        SourceError: the archive is missing or damaged.
    """
    split = options.split
    with zipfile.ZipFile(usable(raw, _ARCHIVE, "emnist")) as archive:
        images, labels = _read_split(archive, split)
    source = f"EMNIST, split {split}, training and test part, as published, upright"
    return assemble("emnist", SPLITS[split], source, images[:, None], labels)


def _read_split(archive: zipfile.ZipFile, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Upright images uint8 [N, 28, 28] and labels int64 [N] from 0."""

    def member(part: str, kind: str) -> np.ndarray:
        with archive.open(f"gzip/emnist-{split}-{part}-{kind}-ubyte.gz") as packed, gzip.open(packed) as stream:
            return mnist_files.read_idx(stream)

    labels = [member(part, "labels-idx1") for part in ("train", "test")]
    images, border = np.empty((sum(map(len, labels)), 28, 28), np.uint8), len(labels[0])
    # Turned on the way into place: byclass is 0.6 GB, so no second copy of it is made.
    for part, rows in (("train", slice(border)), ("test", slice(border, None))):
        images[rows] = member(part, "images-idx3").transpose(0, 2, 1)
    return images, np.concatenate(labels).astype(np.int64) - (1 if split == "letters" else 0)
