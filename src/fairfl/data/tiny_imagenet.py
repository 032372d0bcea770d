"""Tiny-ImageNet: colour images of 200 classes of ImageNet, 64x64 (Stanford CS231n, 2015).

500 training and 50 validation images of each class have labels; the test images have none and are not read. Two forms
are read: the archive as published, and a subset (the first 100 training images of each class in the order of their
names, and all validation images) that an offline mirror may carry. The second is asked for when nobody has the first,
and the ``source`` says so.
"""

import re
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from fairfl.data.checks import present, usable
from fairfl.data.formats import archives, pictures
from fairfl.data.interface import Prepared, RemoteFile, Scale, assemble
from fairfl.experiments.base import Strict

CLASSES = 200
PER_SEED = False

_NAME = "tiny_imagenet"
_SIDE = 64
_PARTS = {"train": ("train",), "val": ("val",), "all": ("train", "val")}
_NORMALISE: dict[str, tuple[Scale, Scale]] = {
    "none": (0.0, 1.0),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}
_PER_CLASS = {"train": 500, "val": 50}
_ROOT = "tiny-imagenet-200/"
_ANNOTATIONS = _ROOT + "val/val_annotations.txt"
_TRAINING_IMAGE = re.compile(_ROOT + r"train/(n\d{8})/images/n\d{8}_(\d+)\.JPEG")
_VALIDATION_IMAGE = re.compile(_ROOT + r"val/images/(val_(\d+)\.JPEG)")
_SUBSET_IMAGE = re.compile(r"(train|test)/(n\d{8})/\w+_(\d+)\.JPEG")
# The copy that the subset was taken from had these two beside the 200 classes of Tiny-ImageNet: they come last in its
# list of classes, and its validation images from number 10000 on are theirs.
_ADDED_CLASSES = ("n02480855", "n10148035")

_SUBSET = RemoteFile(
    "tiny_imagenet_subset.tar.xz",
    (),
    sha256=("f5ab5bb26a4fc0a1305f29f4d4c00f70da627fddae6948bb7293da1419f2fc25",),
)
# The publisher gives no digest; these are what the loaders of many public projects ask for.
_ZIP = RemoteFile(
    "tiny-imagenet-200.zip",
    ("http://cs231n.stanford.edu/tiny-imagenet-200.zip", "https://cs231n.stanford.edu/tiny-imagenet-200.zip"),
    sha256=("6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",),
    magic="zip",
    max_bytes=512 * 2**20,
)
_FORMS = {"auto": replace(_ZIP, instead=_SUBSET), "zip": _ZIP, "subset": _SUBSET}


class _Image(NamedTuple):
    """A file of an archive. Rows are in the order of this."""

    part: str
    wnid: str
    number: int
    name: str


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "val", "all"] = Field("all", description="published samples to take")
    normalise: Literal["none", "imagenet"] = Field(
        "none",
        description="imagenet: mean (0.485, 0.456, 0.406) and standard deviation (0.229, 0.224, 0.225) of red, green "
        "and blue",
    )
    form: Literal["auto", "zip", "subset"] = Field(
        "auto", description="zip: the archive as published; auto: the first that there is"
    )


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The one archive that holds both parts."""
    return (_FORMS[options.form],)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 3, 64, 64], N = 110000, 100000 or 10000 (30000, 20000 or 10000 of the subset).

    Rows are in the order of part (train, then val), class and number of the file; official_test is 1 for val where both
    are there. Classes are numbered in the order of their WordNet ids. Grey images (about two in a hundred) become RGB.

    Raises:
        SourceError: the archive is missing or damaged.
        DataError: Pillow is not installed.
    """
    file = present(raw, _FORMS[options.form], _NAME)
    path, parts = usable(raw, file, _NAME), _PARTS[options.part]
    listed, inputs = (_read_subset if file.name == _SUBSET.name else _read_zip)(path, parts)
    labels = np.unique([image.wnid for image in listed], return_inverse=True)[1]
    test = np.array([image.part == "val" for image in listed])
    mean, std = _NORMALISE[options.normalise]
    source = f"Tiny-ImageNet, part {options.part}, {_origin(file, listed, parts)}"
    official = test if options.part == "all" else None
    return assemble(_NAME, CLASSES, source, inputs, labels, mean=mean, std=std, official_test=official)


def _origin(file: RemoteFile, listed: list[_Image], parts: tuple[str, ...]) -> str:
    """What was read, in words."""
    if file.name != _SUBSET.name:
        return "as published"
    counts = Counter(image.part for image in listed)
    shares = (f"{counts[part]} of {CLASSES * _PER_CLASS[part]} {part} images" for part in parts)
    return f"a subset: {' and '.join(shares)}, {CLASSES} classes"


def _read_zip(path: Path, parts: tuple[str, ...]) -> tuple[list[_Image], np.ndarray]:
    """Images of the published archive in order, and their colours uint8 [N, 3, 64, 64]."""
    with zipfile.ZipFile(path) as archive:
        # The other columns are a box around the object.
        wnids = dict(line.split("\t")[:2] for line in archive.read(_ANNOTATIONS).decode().splitlines())
        images = (_published(name, wnids) for name in archive.namelist())
        listed = sorted(image for image in images if image and image.part in parts)
        return listed, _decoded(((image.name, archive.read(image.name)) for image in listed), len(listed))


def _published(name: str, wnids: dict[str, str]) -> _Image | None:
    """What a name in the published archive stands for; None: no image with a label."""
    if train := _TRAINING_IMAGE.fullmatch(name):
        return _Image("train", train[1], int(train[2]), name)
    val = _VALIDATION_IMAGE.fullmatch(name)
    return _Image("val", wnids[val[1]], int(val[2]), name) if val and val[1] in wnids else None


def _read_subset(path: Path, parts: tuple[str, ...]) -> tuple[list[_Image], np.ndarray]:
    """The same of the subset."""
    # 40 MB at most: the archive is not in order and can be read from front to back only.
    contents = dict(archives.members(path, lambda name: _of_subset(name) is not None))
    images = (image for name in contents if (image := _of_subset(name)))
    listed = sorted(image for image in images if image.part in parts and image.wnid not in _ADDED_CLASSES)
    return listed, _decoded(((image.name, contents[image.name]) for image in listed), len(listed))


def _of_subset(name: str) -> _Image | None:
    match = _SUBSET_IMAGE.fullmatch(name)
    return _Image("train" if match[1] == "train" else "val", match[2], int(match[3]), name) if match else None


def _decoded(contents: Iterable[tuple[str, bytes]], count: int) -> np.ndarray:
    """Colours of JPEG files, uint8 [count, 3, 64, 64]."""
    images = np.empty((count, 3, _SIDE, _SIDE), np.uint8)
    for row, (name, data) in enumerate(contents):
        images[row], _ = pictures.decode(data, "JPEG", name, _SIDE)
    return images
