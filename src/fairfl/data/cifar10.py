"""CIFAR-10: 50000 + 10000 colour images of ten classes, 32x32 (Krizhevsky 2009).

Two forms are read: the archive as published, and one of JPEG files that an offline mirror may carry
(original images and parts, but lossy). The second is asked for when no place has the first, and the
``source`` says so.
"""

from pathlib import Path
from typing import Literal

from pydantic import Field

from fairfl.data.formats import cifar
from fairfl.data.interface import Prepared, Scale, assemble
from fairfl.experiments.base import Strict

CLASSES = 10

_NORMALISE: dict[str, tuple[Scale, Scale]] = {
    "none": (0.0, 1.0),
    "channels": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
}
_FORMS = cifar.forms(
    CLASSES,
    "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    "e07e0e30715fb42d2d644bc9d2516ff610c9f7afb891c5e29e2a428db7951aae",
)


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "test", "all"] = Field("all", description="published samples to take")
    normalise: Literal["none", "channels"] = Field(
        "none",
        description="channels: mean (0.4914, 0.4822, 0.4465) and standard deviation (0.2023, 0.1994, 0.2010) of red, "
        "green and blue, as FedFV's released code does",
    )
    form: Literal["auto", "pickle", "jpeg"] = Field(
        "auto",
        description="pickle: the archive as published; jpeg: the lossy copy; auto: the first that there is",
    )


files = _FORMS.files


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 3, 32, 32], N = 60000, 50000 or 10000; train rows come first, official_test distinguishes them.

    Raises:
        SourceError: the archive is missing or damaged.
    """
    images, origin = cifar.read(_FORMS, raw, options)
    mean, std = _NORMALISE[options.normalise]
    source = f"CIFAR-10, part {options.part}, {origin}"
    return assemble(
        "cifar10",
        CLASSES,
        source,
        images.inputs,
        images.labels,
        mean=mean,
        std=std,
        official_test=images.official_test(options.part),
    )
