"""CINIC-10: 270000 colour images of the ten classes of CIFAR-10, 32x32.

Three parts of 90000 images each, taken from CIFAR-10 and, made smaller, from ImageNet (Darlow, Crowley,
Antoniou, Storkey 2018).
"""

from collections import Counter
from collections.abc import Iterable
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

    part: Literal["train", "valid", "test", "all"] = Field("all", description="published samples to take")
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
    members = archives.members(path, lambda name: _key(name, parts) is not None)
    contents = {key: data for name, data in members if (key := _key(name, parts))}
    _check_counts(path, contents, parts)
    labels: list[int] = []
    others = 0
    images = np.empty((len(contents), 3, 32, 32), np.uint8)
    for key in sorted(contents):
        image, rgb = pictures.decode(contents[key], "PNG", f"{parts[key.part]}/{NAMES[key.label]}/{key.file}", 32)
        others += not rgb
        if rgb or not drop:
            images[len(labels)] = image
            labels.append(key.label)
    return images[: len(labels)], np.array(labels, dtype=np.int64), others


def _key(name: str, parts: tuple[str, ...]) -> _Key | None:
    """Where an image belongs; None for other files and other parts."""
    part, folder, file = (["", "", ""] + name.split("/"))[-3:]
    if part not in parts or folder not in NAMES or not file.endswith(".png"):
        return None
    return _Key(parts.index(part), NAMES.index(folder), file)


def _check_counts(path: Path, keys: Iterable[_Key], parts: tuple[str, ...]) -> None:
    """Raise DataError unless each class of each part has its images."""
    counts = Counter((key.part, key.label) for key in keys)
    for part, folder in enumerate(parts):
        for label, name in enumerate(NAMES):
            count = counts[part, label]
            if count != _PER_CLASS:
                raise DataError(f"{path.name}: {folder}/{name} has {count} different images; expected {_PER_CLASS}")
