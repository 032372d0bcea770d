"""EMNIST: handwritten letters and digits, 28x28 (Cohen, Afshar, Tapson, van Schaik 2017)."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data import idx
from fairfl.data.checks import usable
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.data.options import choice, merge
from fairfl.errors import DataError

CLASSES = 62
PER_SEED = False

SPLITS = {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 26, "digits": 10, "mnist": 10}
"""Classes per split."""

DEFAULTS: dict[str, Any] = {"split": "byclass"}
_ARCHIVE = RemoteFile(
    "gzip.zip",
    ("https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",),
    sha256=("fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",),
    md5="58c8d27c78d21e728a6bc7b3cc06412e",
    magic="zip",
    max_bytes=1 << 30,
)


def files(options: dict[str, Any]) -> tuple[RemoteFile, ...]:
    """The one archive that holds all splits."""
    _split(options)
    return (_ARCHIVE,)


def prepare(raw: Path | None, options: dict[str, Any], seed: int) -> Prepared:
    """inputs uint8 [N, 1, 28, 28]; training rows come first, then test rows.

    The publisher stores images with rows and columns swapped; here they are upright. Labels of
    split "letters" are 1..26 in the file and 0..25 here.

    Options:
        split: "byclass" (default; 814255 images, 62 classes), "bymerge", "balanced", "letters",
            "digits" or "mnist".

    Raises:
        OptionError: an unknown option or split.
        SourceError, DataError: the archive is missing, damaged or not as expected.
    """
    split = _split(options)
    path = usable(raw, _ARCHIVE, "emnist")
    try:
        with zipfile.ZipFile(path) as archive:
            pairs = [_read_part(archive, split, part) for part in ("train", "test")]
    except zipfile.BadZipFile as error:
        raise DataError(f"{path.name}: damaged zip file ({error})") from error
    images = np.concatenate([pair[0] for pair in pairs]).transpose(0, 2, 1)[:, None]
    labels = np.concatenate([pair[1] for pair in pairs])
    source = f"EMNIST, split {split}, training and test part, as published, upright"
    return assemble("emnist", SPLITS[split], source, images, labels)


def _split(options: dict[str, Any]) -> str:
    return choice("emnist", "split", merge("emnist", options, DEFAULTS)["split"], SPLITS)


def _read_part(archive: zipfile.ZipFile, split: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Read two members straight from the archive: nothing is unpacked to disk."""
    lowest = 1 if split == "letters" else 0
    stem = f"gzip/emnist-{split}-{part}"
    images, labels = f"{stem}-images-idx3-ubyte.gz", f"{stem}-labels-idx1-ubyte.gz"
    for name in (images, labels):
        if name not in archive.NameToInfo:
            raise DataError(f"gzip.zip: has no member {name}")
    with archive.open(images) as member, gzip.open(member) as stream:
        pixels = idx.read_images(stream, images, 28, 28)  # type: ignore[arg-type]
    with archive.open(labels) as member, gzip.open(member) as stream:
        highest = lowest + SPLITS[split] - 1
        targets = idx.read_labels(stream, labels, lowest, highest)  # type: ignore[arg-type]
    idx.check_counts(images, pixels, labels, targets)
    return pixels, targets - lowest
