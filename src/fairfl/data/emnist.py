"""EMNIST: handwritten letters and digits, 28x28 (Cohen, Afshar, Tapson, van Schaik 2017).

Two files are read: the archive as published, and one that an offline mirror may carry, with the test part of split
byclass alone. The second is asked for when no place has the first, and the ``source`` says so.
"""

import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from fairfl.data.checks import Forms
from fairfl.data.formats.mnist_files import read_idx
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Strict

SPLITS = {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 26, "digits": 10, "mnist": 10}
"""Classes per split."""

_ARCHIVE = RemoteFile(
    "gzip.zip",
    ("https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",),
    sha256=("fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",),
    magic="zip",
)
_TEST_PART = RemoteFile(
    "emnist_byclass_test.zip",
    sha256=("5f814498ebc3c0f73215d9516a133fa8b5b35446e422b3fd28056804f2aa7222",),
    magic="zip",
)
_FORMS = Forms("emnist", published=_ARCHIVE, test_part=_TEST_PART)


class Config(Strict):
    """Options of the data set."""

    split: Literal["byclass", "bymerge", "balanced", "letters", "digits", "mnist"] = Field(
        "byclass", description="byclass: 814255 images of 62 classes"
    )
    form: Literal["auto", "published", "test_part"] = Field(
        "auto",
        description="published: the archive of all splits; test_part: a file with the 116323 test images of split "
        "byclass alone; auto: the first that there is",
    )

    @model_validator(mode="after")
    def _has_split(self) -> "Config":
        if self.form == "test_part" and self.split != "byclass":
            raise ValueError(f"form test_part has split byclass only; split is {self.split}")
        return self


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The archive that holds all splits, or for split byclass the file of its test part instead."""
    return _FORMS.files(options) if options.split == "byclass" else (_ARCHIVE,)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 1, 28, 28]; training rows come first, then test rows (116323 of the test part alone).

    The publisher stores images with rows and columns swapped; here they are upright. Labels of
    split "letters" are 1..26 in the file and 0..25 here.

    Raises:
        SourceError: the archive is missing or damaged.
    """
    split = options.split
    form, path = _FORMS.find(raw, options.form if split == "byclass" else "published")
    parts, read = (
        (["train", "test"], "training and test part")
        if form == "published"
        else (["test"], "test part only")
    )
    with zipfile.ZipFile(path) as archive:
        labels = [_member(archive, split, part, "labels-idx1") for part in parts]
        images, stop = np.empty((sum(map(len, labels)), 28, 28), np.uint8), 0
        # Turned on the way into place: byclass is 0.6 GB, so no second copy of it is made.
        for part, own in zip(parts, labels, strict=True):
            start, stop = stop, stop + len(own)
            images[start:stop] = _member(archive, split, part, "images-idx3").transpose(0, 2, 1)
    source = f"EMNIST, split {split}, {read}, as published, upright"
    numbers = np.concatenate(labels).astype(np.int64) - (split == "letters")
    return assemble("emnist", SPLITS[split], source, images[:, None], numbers)


def _member(archive: zipfile.ZipFile, split: str, part: str, kind: str) -> np.ndarray:
    with archive.open(f"gzip/emnist-{split}-{part}-{kind}-ubyte.gz") as packed:
        return read_idx(packed)
