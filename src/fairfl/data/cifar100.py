"""CIFAR-100: 50000 + 10000 colour images of 100 classes, 32x32 (Krizhevsky 2009).

Two forms are read, as of CIFAR-10: the archive as published, and one of JPEG files that an offline mirror may carry
(original images and parts, but lossy). The second is asked for when nobody has the first, and the ``source`` says so.
"""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from fairfl.data.checks import present, usable
from fairfl.data.formats import cifar_batches, pictures
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Strict

CLASSES = 100
PER_SEED = False
_SUPERCLASSES = (
    "beaver dolphin otter seal whale",
    "aquarium_fish flatfish ray shark trout",
    "orchid poppy rose sunflower tulip",
    "bottle bowl can cup plate",
    "apple mushroom orange pear sweet_pepper",
    "clock keyboard lamp telephone television",
    "bed chair couch table wardrobe",
    "bee beetle butterfly caterpillar cockroach",
    "bear leopard lion tiger wolf",
    "bridge castle house road skyscraper",
    "cloud forest mountain plain sea",
    "camel cattle chimpanzee elephant kangaroo",
    "fox porcupine possum raccoon skunk",
    "crab lobster snail spider worm",
    "baby boy girl man woman",
    "crocodile dinosaur lizard snake turtle",
    "hamster mouse rabbit shrew squirrel",
    "maple_tree oak_tree palm_tree pine_tree willow_tree",
    "bicycle bus motorcycle pickup_truck train",
    "lawn_mower rocket streetcar tank tractor",
)
"""Fine classes of the coarse labels 0 to 19 (https://www.cs.toronto.edu/~kriz/cifar.html), and so all of them."""
_COARSE = {name: label for label, names in enumerate(_SUPERCLASSES) for name in names.split()}
_PARTS = {"train": ("train",), "test": ("test",), "all": ("train", "test")}
_JPEG = RemoteFile(
    "cifar100_jpeg.tar.xz",
    (),
    sha256=("a5c57019128b022c49b8a00c386c4ac64428499b79df8355deae1c7aea6af274",),
)
_PICKLE = RemoteFile(
    "cifar-100-python.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",),
    sha256=("85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",),
    magic="gzip",
    max_bytes=256 * 2**20,
)
_FORMS = {"auto": replace(_PICKLE, instead=_JPEG), "pickle": _PICKLE, "jpeg": _JPEG}


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "test", "all"] = Field("all", description="published samples to take")
    labels: Literal["fine", "coarse"] = Field("fine", description="100 classes, or their 20 superclasses")
    form: Literal["auto", "pickle", "jpeg"] = Field(
        "auto", description="pickle: the archive as published; jpeg: the lossy copy; auto: the first that there is"
    )


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The one archive that holds both parts."""
    return (_FORMS[options.form],)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 3, 32, 32], N = 60000, 50000 or 10000; train rows come first.

    The fine labels are numbered by the alphabet. Rows of the published archive are in published
    order, rows of the JPEG archive in the order of part, class and file number.

    Raises:
        SourceError: the archive is missing or damaged.
        DataError: Pillow, which JPEG files need, is not installed.
    """
    file = present(raw, _FORMS[options.form], "cifar100")
    path, parts = usable(raw, file, "cifar100"), _PARTS[options.part]
    if file.name == _JPEG.name:
        origin, (images, labels) = "JPEG-compressed copy, lossy", pictures.jpeg_folders(path, parts, 32)
        if options.labels == "coarse":
            labels = np.array([_COARSE[name] for name in sorted(_COARSE)])[labels]
    else:
        batches = [f"cifar-100-python/{part}" for part in parts]
        origin, (images, labels) = "as published", cifar_batches.read(path, batches, f"{options.labels}_labels")
    count = CLASSES if options.labels == "fine" else len(_SUPERCLASSES)
    source = f"CIFAR-100, part {options.part}, {options.labels} labels, {origin}"
    return assemble("cifar100", count, source, images, labels)
