"""CIFAR-100: 50000 + 10000 colour images of 100 classes, 32x32 (Krizhevsky 2009).

Two forms are read, as of CIFAR-10: the archive as published, and one of JPEG files that an offline mirror may carry
(original images and parts, but lossy). The second is asked for when no place has the first, and the ``source`` says so.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from fairfl.data.formats import cifar
from fairfl.data.interface import Prepared, assemble
from fairfl.experiments.base import Strict

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
_FORMS = cifar.forms(
    100,
    "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    "a5c57019128b022c49b8a00c386c4ac64428499b79df8355deae1c7aea6af274",
)


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "test", "all"] = Field("all", description="published samples to take")
    labels: Literal["fine", "coarse"] = Field(
        "fine", description="100 classes, or their 20 superclasses"
    )
    form: Literal["auto", "pickle", "jpeg"] = Field(
        "auto",
        description="pickle: the archive as published; jpeg: the lossy copy; auto: the first that there is",
    )


files = _FORMS.files


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 3, 32, 32], N = 60000, 50000 or 10000; train rows come first.

    The fine labels are numbered by the alphabet.

    Raises:
        SourceError: the archive is missing or damaged.
    """
    images, origin = cifar.read(_FORMS, raw, options)
    labels, classes = images.labels, sorted(_COARSE)
    if options.labels == "coarse":
        labels, classes = np.array([_COARSE[name] for name in classes])[labels], list(_SUPERCLASSES)
    source = f"CIFAR-100, part {options.part}, {options.labels} labels, {origin}"
    return assemble("cifar100", len(classes), source, images.inputs, labels)
