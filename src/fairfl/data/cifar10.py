"""CIFAR-10: 50000 + 10000 colour images of ten classes, 32x32 (Krizhevsky 2009).

Two forms are read: the archive as published, and one of JPEG files that an offline mirror may carry
(original images and parts, but lossy). The second is asked for when nobody has the first, and the
``source`` says so.
"""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from fairfl.data.checks import present, usable
from fairfl.data.formats import cifar_batches, pictures
from fairfl.data.interface import Prepared, RemoteFile, Scale, assemble
from fairfl.experiments.base import Strict

CLASSES = 10
PER_SEED = False
NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
"""Names of the classes 0 to 9, in the order of the alphabet; CINIC-10 has the same."""

_PARTS = {"train": ("train",), "test": ("test",), "all": ("train", "test")}
_TRAIN_ROWS = 50_000
_BATCHES = {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]}
_NORMALISE: dict[str, tuple[Scale, Scale]] = {
    "none": (0.0, 1.0),
    "channels": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
}
_JPEG = RemoteFile(
    "cifar10_jpeg.tar.xz",
    (),
    sha256=("e07e0e30715fb42d2d644bc9d2516ff610c9f7afb891c5e29e2a428db7951aae",),
)
_PICKLE = RemoteFile(
    "cifar-10-python.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",),
    sha256=("6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",),
    magic="gzip",
    max_bytes=256 * 2**20,
)
_FORMS = {"auto": replace(_PICKLE, instead=_JPEG), "pickle": _PICKLE, "jpeg": _JPEG}


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "test", "all"] = Field("all", description="published samples to take")
    normalise: Literal["none", "channels"] = Field(
        "none",
        description="channels: mean (0.4914, 0.4822, 0.4465) and standard deviation (0.2023, 0.1994, 0.2010) of red, "
        "green and blue, as FedFV's released code does",
    )
    form: Literal["auto", "pickle", "jpeg"] = Field(
        "auto", description="pickle: the archive as published; jpeg: the lossy copy; auto: the first that there is"
    )


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The one archive that holds both parts."""
    return (_FORMS[options.form],)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 3, 32, 32], N = 60000, 50000 or 10000; train rows come first, official_test tells them apart.

    Rows of the published archive are in published order (data_batch_1 to 5, test_batch), rows of the
    JPEG archive in the order of part, class and file number.

    Raises:
        SourceError: the archive is missing or damaged.
        DataError: Pillow, which JPEG files need, is not installed.
    """
    file = present(raw, _FORMS[options.form], "cifar10")
    path, parts = usable(raw, file, "cifar10"), _PARTS[options.part]
    if file.name == _JPEG.name:
        origin, (images, labels) = "JPEG-compressed copy, lossy", pictures.jpeg_folders(path, parts, 32)
    else:
        batches = [f"cifar-10-batches-py/{batch}" for part in parts for batch in _BATCHES[part]]
        origin, (images, labels) = "as published", cifar_batches.read(path, batches, "labels")
    mean, std = _NORMALISE[options.normalise]
    source = f"CIFAR-10, part {options.part}, {origin}"
    test = np.arange(len(labels)) >= _TRAIN_ROWS if options.part == "all" else None
    return assemble("cifar10", CLASSES, source, images, labels, mean=mean, std=std, official_test=test)
