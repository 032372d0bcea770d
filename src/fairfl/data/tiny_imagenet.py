"""Tiny-ImageNet: colour images of 200 classes of ImageNet, 64x64 (Stanford CS231n, 2015).

500 training and 50 validation images of each class have labels; the test images have none and are not read. Two forms
are read: the archive as published, and a subset (the first 100 training images of each class in the order of their
names, and all validation images) that an offline mirror may carry. The second is asked for when nobody has the first,
and the ``source`` says so.
"""

import re
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
from fairfl.runtime.errors import DataError

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
_SUBSET_PER_CLASS = {"train": 100, "val": 50}
_MAX_JPEG_BYTES = 64 * 2**10
_ROOT = "tiny-imagenet-200/"
_ANNOTATIONS = _ROOT + "val/val_annotations.txt"
_MAX_ANNOTATIONS_BYTES = 4 * 2**20
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
    md5="90528d7ca1a48142e341f4ef8d21d0de",
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

    part: Literal["train", "val", "all"] = "all"
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
        SourceError, DataError: the archive is missing, damaged or not as expected.
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
    wnids = _annotations(path)
    images = (_published(name, wnids) for name in archives.zip_names(path))
    listed = _in_order(path, (image for image in images if image and image.part in parts), parts, _PER_CLASS)
    return listed, _decoded(archives.zip_members(path, [image.name for image in listed], _MAX_JPEG_BYTES), len(listed))


def _annotations(path: Path) -> dict[str, str]:
    """WordNet id of each validation image; the other columns are a box around the object."""
    ((_, text),) = archives.zip_members(path, [_ANNOTATIONS], _MAX_ANNOTATIONS_BYTES)
    lines = [line.split("\t") for line in text.decode("utf-8", "replace").splitlines()]
    for number, line in enumerate(lines, 1):
        if len(line) < 2:
            raise DataError(f"{path.name}: {_ANNOTATIONS} line {number} has no class")
    return {line[0]: line[1] for line in lines}


def _published(name: str, wnids: dict[str, str]) -> _Image | None:
    """What a name in the published archive stands for; None: no image with a label."""
    if train := _TRAINING_IMAGE.fullmatch(name):
        return _Image("train", train[1], int(train[2]), name)
    val = _VALIDATION_IMAGE.fullmatch(name)
    return _Image("val", wnids[val[1]], int(val[2]), name) if val and val[1] in wnids else None


def _read_subset(path: Path, parts: tuple[str, ...]) -> tuple[list[_Image], np.ndarray]:
    """The same of the subset."""

    def wanted(name: str) -> bool:
        image = _of_subset(name)
        return image is not None and image.part in parts and image.wnid not in _ADDED_CLASSES

    # 40 MB at most: the archive is not in order and can be read from front to back only.
    contents = dict(archives.members(path, wanted, _MAX_JPEG_BYTES))
    images = (image for name in contents if (image := _of_subset(name)))
    listed = _in_order(path, images, parts, _SUBSET_PER_CLASS)
    return listed, _decoded(((image.name, contents[image.name]) for image in listed), len(listed))


def _of_subset(name: str) -> _Image | None:
    match = _SUBSET_IMAGE.fullmatch(name)
    return _Image("train" if match[1] == "train" else "val", match[2], int(match[3]), name) if match else None


def _in_order(path: Path, images: Iterable[_Image], parts: tuple[str, ...], per_class: dict[str, int]) -> list[_Image]:
    """Sorted images; raises DataError unless each class of each part has its number of them."""
    ordered = sorted(images)
    counts = Counter((image.part, image.wnid) for image in ordered)
    for part in parts:
        wnids = [wnid for owner, wnid in counts if owner == part]
        if len(wnids) != CLASSES:
            raise DataError(f"{path.name}: {part} has {len(wnids)} classes; expected {CLASSES}")
        for wnid in wnids:
            if counts[part, wnid] != per_class[part]:
                raise DataError(
                    f"{path.name}: {part} has {counts[part, wnid]} images of {wnid}; expected {per_class[part]}"
                )
    if {wnid for _, wnid in counts} != set(wnids):
        raise DataError(f"{path.name}: its parts do not have the same classes")
    return ordered


def _decoded(contents: Iterable[tuple[str, bytes]], count: int) -> np.ndarray:
    """Colours of JPEG files, uint8 [count, 3, 64, 64]."""
    images = np.empty((count, 3, _SIDE, _SIDE), np.uint8)
    for row, (name, data) in enumerate(contents):
        images[row], _ = pictures.decode(data, "JPEG", name, _SIDE)
    return images
