"""Tiny-ImageNet: colour images of 200 classes of ImageNet, 64x64 (Stanford CS231n, 2015).

500 training and 50 validation images of each class have labels; the test images have none and are not read. Two forms
are read: the archive as published, and a subset (the first 100 training images of each class in the order of their
names, and all validation images) that an offline mirror may carry. The second is asked for when no place has the first,
and the ``source`` says so.
"""

import re
import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from fairfl.data.checks import Forms
from fairfl.data.formats import archives
from fairfl.data.formats.pictures import Decoded, Picture, decode, list_parts
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
_IMAGE = re.compile(_ROOT + r"(train|val)/(?:(n\d{8})/)?images/(\w+_(\d+)\.JPEG)")
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
    parts = list_parts(options.part, ("train", "val"))
    images = (_read_subset if form == "subset" else _read_zip)(path, parts)
    origin = "as published"
    if form == "subset":
        counts = zip(parts, np.bincount(images.part), strict=True)
        shares = (
            f"{count} of {CLASSES * _PER_CLASS[part]} {part} images" for part, count in counts
        )
        origin = f"a subset: {' and '.join(shares)}, {CLASSES} classes"
    mean, std = _NORMALISE[options.normalise]
    source = f"Tiny-ImageNet, part {options.part}, {origin}"
    test = images.official_test(options.part)
    return assemble(
        _NAME, CLASSES, source, images.inputs, images.labels, mean=mean, std=std, official_test=test
    )


def _read_zip(path: Path, parts: tuple[str, ...]) -> Decoded:
    """Images of the published archive."""
    with zipfile.ZipFile(path) as archive:
        # The other columns are a box around the object.
        annotations = archive.read(_ROOT + "val/val_annotations.txt").decode().splitlines()
        wnids = dict(line.split("\t")[:2] for line in annotations)
        pictures = (
            Picture(parts.index(match[1]), match[2] or wnids[match[3]], int(match[4]), match[0])
            for match in map(_IMAGE.fullmatch, archive.namelist())
            if match and match[1] in parts
        )
        return decode(pictures, archive.read, 64)


def _read_subset(path: Path, parts: tuple[str, ...]) -> Decoded:
    """Images of the subset, whose part test is val."""
    # 40 MB at most: the archive is not in order and can be read from front to back only.
    contents = dict(archives.read_members(path, _SUBSET_IMAGE.fullmatch))
    matches = filter(None, map(_SUBSET_IMAGE.fullmatch, contents))
    pictures = (
        Picture(parts.index(part), match[2], int(match[3]), match[0])
        for match in matches
        if match[2] not in _ADDED_CLASSES and (part := match[1].replace("test", "val")) in parts
    )
    return decode(pictures, contents.__getitem__, 64)
