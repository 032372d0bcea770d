"""Tiny-ImageNet: colour images of 200 classes of ImageNet, 64x64 (Stanford CS231n, 2015).

500 training and 50 validation images of each class have labels; the test images have none and are not read. Two forms
are read: the archive as published, and a subset (the first 100 training images of each class in the order of their
names, and all validation images) that an offline mirror may carry. The second is asked for when no place has the first,
and the ``source`` says so.
"""

import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from fairfl.data.checks import Forms
from fairfl.data.formats import archives, pictures
from fairfl.data.interface import Prepared, RemoteFile, Scale, assemble
from fairfl.experiments.base import Strict

CLASSES = 200

_NAME = "tiny_imagenet"
_NORMALISE: dict[str, tuple[Scale, Scale]] = {
    "none": (0.0, 1.0),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}
_PER_CLASS = {"train": 500, "val": 50}
_ROOT = "tiny-imagenet-200/"
_TRAINING_IMAGE = re.compile(_ROOT + r"train/(n\d{8})/images/n\d{8}_(\d+)\.JPEG")
_VALIDATION_IMAGE = re.compile(_ROOT + r"val/images/(val_(\d+)\.JPEG)")
_SUBSET_IMAGE = re.compile(r"(train|test)/(n\d{8})/\w+_(\d+)\.JPEG")
# The copy that the subset was taken from had these two beside the 200 classes of Tiny-ImageNet: they come last in its
# list of classes, and its validation images from number 10000 on are theirs.
_ADDED_CLASSES = ("n02480855", "n10148035")

_FORMS = Forms(
    _NAME,
    # The publisher gives no digest; these are what the loaders of many public projects ask for.
    zip=RemoteFile(
        "tiny-imagenet-200.zip",
        (
            "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
            "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
        ),
        sha256=("6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",),
        magic="zip",
    ),
    subset=RemoteFile(
        "tiny_imagenet_subset.tar.xz",
        sha256=("f5ab5bb26a4fc0a1305f29f4d4c00f70da627fddae6948bb7293da1419f2fc25",),
    ),
)


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


files = _FORMS.files


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 3, 64, 64], N = 110000, 100000 or 10000 (30000, 20000 or 10000 of the subset).

    Rows are in the order of part (train, then val), class and number of the file; official_test is 1 for val where both
    are there. Classes are numbered in the order of their WordNet ids. Grey images (about two in a hundred) become RGB.

    Raises:
        SourceError: the archive is missing or damaged.
    """
    form, path = _FORMS.find(raw, options.form)
    parts = pictures.parts_of(options.part, ("train", "val"))
    images, inputs = (_read_subset if form == "subset" else _read_zip)(path, parts)
    labels = np.unique([image.wnid for image in images], return_inverse=True)[1]
    origin = "as published"
    if form == "subset":
        counts = Counter(image.part for image in images)
        shares = (f"{counts[part]} of {CLASSES * _PER_CLASS[part]} {part} images" for part in parts)
        origin = f"a subset: {' and '.join(shares)}, {CLASSES} classes"
    mean, std = _NORMALISE[options.normalise]
    source = f"Tiny-ImageNet, part {options.part}, {origin}"
    test = np.array([image.part == "val" for image in images]) if options.part == "all" else None
    return assemble(_NAME, CLASSES, source, inputs, labels, mean=mean, std=std, official_test=test)


def _read_zip(path: Path, parts: tuple[str, ...]) -> tuple[list[_Image], np.ndarray]:
    """Images of the published archive in order, and their colours uint8 [N, 3, 64, 64]."""
    with zipfile.ZipFile(path) as archive:
        # The other columns are a box around the object.
        annotations = archive.read(_ROOT + "val/val_annotations.txt").decode().splitlines()
        wnids = dict(line.split("\t")[:2] for line in annotations)
        images = []
        for name in archive.namelist():
            if train := _TRAINING_IMAGE.fullmatch(name):
                images.append(_Image("train", train[1], int(train[2]), name))
            elif val := _VALIDATION_IMAGE.fullmatch(name):
                images.append(_Image("val", wnids[val[1]], int(val[2]), name))
        return _decoded(images, parts, archive.read)


def _read_subset(path: Path, parts: tuple[str, ...]) -> tuple[list[_Image], np.ndarray]:
    """Images of the subset in order, and their colours uint8 [N, 3, 64, 64]."""
    # 40 MB at most: the archive is not in order and can be read from front to back only.
    contents = dict(archives.members(path, _SUBSET_IMAGE.fullmatch))
    matches = filter(None, map(_SUBSET_IMAGE.fullmatch, contents))
    images = (_Image(m[1].replace("test", "val"), m[2], int(m[3]), m[0]) for m in matches)
    return _decoded(
        (image for image in images if image.wnid not in _ADDED_CLASSES), parts, contents.__getitem__
    )


def _decoded(
    images: Iterable[_Image], parts: tuple[str, ...], read: Callable[[str], bytes]
) -> tuple[list[_Image], np.ndarray]:
    """Images of the parts in order, and their colours."""
    listed = sorted(image for image in images if image.part in parts)
    return listed, pictures.decode([image.name for image in listed], read, 64)[0]
