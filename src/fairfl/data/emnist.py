"""EMNIST: handwritten letters and digits, 28x28 (Cohen, Afshar, Tapson, van Schaik 2017)."""

import gzip
import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from fairfl.data.checks import usable
from fairfl.data.formats import archives, idx
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import DataError

CLASSES = 62
PER_SEED = False

SPLITS = {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 26, "digits": 10, "mnist": 10}
"""Classes per split."""

_ARCHIVE = RemoteFile(
    "gzip.zip",
    ("https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",),
    sha256=("fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",),
    md5="58c8d27c78d21e728a6bc7b3cc06412e",
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
        SourceError, DataError: the archive is missing, damaged or not as expected.
    """
    split = options.split
    path = usable(raw, _ARCHIVE, "emnist")
    with archives.opened_zip(path) as archive:
        images, labels = _read_split(archive, split)
    source = f"EMNIST, split {split}, training and test part, as published, upright"
    return assemble("emnist", SPLITS[split], source, images[:, None], labels)


def _read_split(archive: zipfile.ZipFile, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Upright images uint8 [N, 28, 28] and labels int64 [N] from 0."""
    members = [_members(archive, split, part) for part in ("train", "test")]
    labels = [_read_labels(archive, name, split) for _, name in members]
    images = np.empty((sum(map(len, labels)), 28, 28), np.uint8)
    start = 0
    for (name, labels_name), targets in zip(members, labels, strict=True):
        # Turned on the way into place: byclass is 0.6 GB, so no second copy of it is made.
        with archive.open(name) as member, gzip.open(member) as stream:
            pixels = idx.read_images(stream, name, 28, 28)  # type: ignore[arg-type]
        idx.check_counts(name, pixels, labels_name, targets)
        images[start : start + len(pixels)] = pixels.transpose(0, 2, 1)
        start += len(pixels)
    return images, np.concatenate(labels)


def _members(archive: zipfile.ZipFile, split: str, part: str) -> tuple[str, str]:
    """Names of the images and the labels; members are read in place, nothing is unpacked."""
    stem = f"gzip/emnist-{split}-{part}"
    names = f"{stem}-images-idx3-ubyte.gz", f"{stem}-labels-idx1-ubyte.gz"
    for name in names:
        if name not in archive.NameToInfo:
            raise DataError(f"gzip.zip: has no member {name}")
    return names


def _read_labels(archive: zipfile.ZipFile, name: str, split: str) -> np.ndarray:
    lowest = 1 if split == "letters" else 0
    with archive.open(name) as member, gzip.open(member) as stream:
        highest = lowest + SPLITS[split] - 1
        return idx.read_labels(stream, name, lowest, highest) - lowest  # type: ignore[arg-type]
