"""CIFAR-100: 50000 + 10000 colour images of 100 classes, 32x32 (Krizhevsky 2009)."""

from pathlib import Path
from typing import Literal

from fairfl.data.checks import usable
from fairfl.data.formats import cifar_batches
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Strict

CLASSES = 100
PER_SEED = False
_FOLDER = "cifar-100-python/"
_PARTS = {"train": [_FOLDER + "train"], "test": [_FOLDER + "test"], "all": [_FOLDER + "train", _FOLDER + "test"]}
_ARCHIVE = RemoteFile(
    "cifar-100-python.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",),
    sha256=("85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",),
    magic="gzip",
    max_bytes=256 * 2**20,
)


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "test", "all"] = "all"


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The one archive that holds both parts."""
    return (_ARCHIVE,)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 3, 32, 32], N = 60000, 50000 or 10000; train rows come first, in published order.

    Labels are the 100 fine ones.

    Raises:
        SourceError: the archive is missing or damaged.
    """
    part = options.part
    path = usable(raw, _ARCHIVE, "cifar100")
    images, labels = cifar_batches.read(path, _PARTS[part], "fine_labels")
    return assemble("cifar100", CLASSES, f"CIFAR-100, part {part}, fine labels, as published", images, labels)
