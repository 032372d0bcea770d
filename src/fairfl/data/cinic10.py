"""CINIC-10: 270000 colour images of the ten classes of CIFAR-10, 32x32.

Three parts of 90000 images each, taken from CIFAR-10 and, made smaller, from ImageNet (Darlow, Crowley,
Antoniou, Storkey 2018).
"""

from collections import Counter
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from fairfl.data.checks import usable
from fairfl.data.cifar10 import CLASSES, NAMES
from fairfl.data.formats import archives, pictures
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import DataError

PER_SEED = False
_PARTS = {"train": ("train",), "valid": ("valid",), "test": ("test",), "all": ("train", "valid", "test")}
_PER_CLASS = 9000
_MAX_PNG_BYTES = 64 * 2**10
_ARCHIVE = RemoteFile(
    "CINIC-10.tar.gz",
    (
        "https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz",
        "https://datashare.ed.ac.uk/server/api/core/bitstreams/e8e186cc-2688-48f1-aa5a-3fda1a43f8b6/content",
    ),
    md5="6ee4d0c996905fe93221de577967a372",
    magic="gzip",
    why_no_sha256="upstream publishes md5 only",
    max_bytes=1 << 30,
)


class _Key(NamedTuple):
    """Rows are in the order of this."""

    part: int
    label: int
    file: str


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "valid", "test", "all"] = "all"
    non_rgb: Literal["drop", "convert"] = Field(
        "drop", description="images that are not RGB; drop: 269679 of 270000 remain, as in VRed's table 2"
    )


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The one archive that holds all parts."""
    return (_ARCHIVE,)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 3, 32, 32], N = 90000 per part less the images dropped.

    Rows are in the order of part (train, valid, test), class and file name; within a part that is the
    order of torchvision's ImageFolder.

    Raises:
        SourceError, DataError: the archive is missing, damaged or not as expected.
    """
    path = usable(raw, _ARCHIVE, "cinic10")
    drop = options.non_rgb == "drop"
    images, labels, others = _read(path, _PARTS[options.part], drop)
    source = f"CINIC-10, part {options.part}, as published; {others} images that are not RGB "
    return assemble("cinic10", CLASSES, source + ("dropped" if drop else "converted"), images, labels)


def _read(path: Path, parts: tuple[str, ...], drop: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Images uint8 [N, 3, 32, 32] and labels int64 [N] in order, and how many were not RGB."""
    images = np.empty((len(parts) * CLASSES * _PER_CLASS, 3, 32, 32), np.uint8)
    keys: list[_Key] = []  # of the rows of images
    dropped: list[_Key] = []
    others = 0
    for name, data in archives.members(path, lambda name: _key(name, parts) is not None, _MAX_PNG_BYTES):
        key = _key(name, parts)
        assert key is not None  # `members` gives no other names
        if len(keys) + len(dropped) == len(images):
            raise DataError(f"{path.name}: has more than {len(images)} images in {', '.join(parts)}")
        image, rgb = pictures.decode(data, "PNG", name, 32)
        others += not rgb
        if drop and not rgb:
            dropped.append(key)
        else:
            images[len(keys)] = image
            keys.append(key)
    _check_counts(path, [*keys, *dropped], parts)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    images = images[: len(keys)]
    _reorder(images, order)
    return images, np.array([keys[row].label for row in order], dtype=np.int64), others


def _key(name: str, parts: tuple[str, ...]) -> _Key | None:
    """Where an image belongs; None for other files and other parts."""
    part, folder, file = (["", "", ""] + name.split("/"))[-3:]
    if part not in parts or folder not in NAMES or not file.endswith(".png"):
        return None
    return _Key(parts.index(part), NAMES.index(folder), file)


def _check_counts(path: Path, keys: list[_Key], parts: tuple[str, ...]) -> None:
    """Raise DataError unless each class of each part has its images, each of them once."""
    counts = Counter((key.part, key.label) for key in set(keys))
    for part, folder in enumerate(parts):
        for label, name in enumerate(NAMES):
            if counts[part, label] != _PER_CLASS:
                found = f"{counts[part, label]} different images"
                raise DataError(f"{path.name}: {folder}/{name} has {found}; expected {_PER_CLASS}")


def _reorder(images: np.ndarray, order: list[int]) -> None:
    """Row i becomes what row order[i] was, in place: a second copy would be 0.8 GB."""
    done = [False] * len(order)
    for start in range(len(order)):
        if done[start]:
            continue
        held, row = images[start].copy(), start
        while order[row] != start:
            images[row] = images[order[row]]
            done[row], row = True, order[row]
        images[row] = held
        done[row] = True
