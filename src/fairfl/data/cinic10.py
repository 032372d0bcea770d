"""CINIC-10: 270000 colour images of the ten classes of CIFAR-10, 32x32.

Three parts of 90000 images each, taken from CIFAR-10 and, made smaller, from ImageNet (Darlow, Crowley,
Antoniou, Storkey 2018).
"""

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from fairfl.data.checks import usable
from fairfl.data.formats import pictures
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Strict

# Upstream publishes md5 only.
_ARCHIVE = RemoteFile(
    "CINIC-10.tar.gz",
    (
        "https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz",
        "https://datashare.ed.ac.uk/server/api/core/bitstreams/e8e186cc-2688-48f1-aa5a-3fda1a43f8b6/content",
    ),
    md5="6ee4d0c996905fe93221de577967a372",
    magic="gzip",
)


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "valid", "test", "all"] = Field(
        "all", description="published samples to take"
    )
    non_rgb: Literal["drop", "convert"] = Field(
        "drop",
        description="images that are not RGB; drop: 269679 of 270000 remain, as in VRed's table 2",
    )
    order: Literal["stored", "drawn"] = Field(
        "stored",
        description="of the rows; drawn: mixed once, as CIFAR-10's and ImageNet's images stand apart as stored",
    )


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The one archive that holds all parts."""
    return (_ARCHIVE,)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 3, 32, 32], N = 90000 per part less the images dropped.

    Rows are in the order of part (train, valid, test), class and file name unless they are drawn; within a
    part that is the order of torchvision's ImageFolder.

    Raises:
        SourceError: the archive is missing or damaged.
    """
    parts = pictures.list_parts(options.part, ("train", "valid", "test"))
    images, labels, _, rgb = pictures.read_folders(
        usable(raw, _ARCHIVE, "cinic10"), parts, "png", 32
    )
    rows, done = np.arange(len(rgb)), "converted"
    if options.non_rgb == "drop":
        rows, done = rows[rgb], "dropped"
    if options.order == "drawn":
        rows = np.random.default_rng(0).permutation(rows)
    source = f"CINIC-10, part {options.part}, as published; {(~rgb).sum()} images that are not RGB {done}"
    return assemble("cinic10", 10, source, images[rows], labels[rows])
