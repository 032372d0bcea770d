"""Fashion-MNIST: 60000 + 10000 pictures of clothes, 28x28 (Xiao, Rasul, Vollgraf 2017).

How FedFV prepares it (its released code, after q-FFL's): classes 0, 2, 6 (T-shirt, pullover,
shirt), each pixel standardised with its mean and standard deviation over the training images of all
ten classes. That is ``part: all, classes: [0, 2, 6], standardise: pixel``.
"""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fairfl.data import classes
from fairfl.data.formats.mnist_files import CLASSES, MnistFiles
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import DISTINCT, Strict

# Added to each standard deviation by the released code, in units of 0..255.
_PIXEL_OFFSET = 0.001
# The digests of the unpacked files, then of the published ones.
_FILES = MnistFiles(
    "fashion_mnist",
    (
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    ),
    (
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    (
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    ),
)


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "test", "all"] = Field("all", description="published samples to take")
    classes: (
        Annotated[list[Annotated[int, Field(ge=0, lt=10)]], Field(min_length=2), DISTINCT] | None
    ) = Field(
        None, description="labels to keep, which become 0, 1, ... in the order given; null: all"
    )
    standardise: Literal["none", "pixel", "global"] = Field(
        "none",
        description="by the training images of all ten classes; pixel: (x - mean) / (standard deviation + 0.001) for "
        "each pixel in units of 0..255, as FedFV's released code does; global: one mean and one standard deviation",
    )


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The IDX files of the chosen part, and of the training part if it sets the scale."""
    training = () if options.standardise == "none" else _FILES.of("train")
    return tuple(dict.fromkeys(training + _FILES.of(options.part)))


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 1, 28, 28], or float32 [N, 784] if each pixel is standardised.

    N = 70000 (60000, 10000 for the training and the test part), or a tenth of it for each class
    that is kept. Train rows come first, official_test distinguishes them.

    Raises:
        SourceError: a file is missing or damaged.
    """
    images, labels, test = _FILES.read(raw, options.part)
    source = f"Fashion-MNIST, part {options.part}, as published"
    count = CLASSES
    if options.classes is not None:
        rows, labels = classes.keep(labels, options.classes)
        images, test = images[rows], None if test is None else test[rows]
        count = len(options.classes)
        source += f"; classes {options.classes} only"
    inputs, mean, std = images[:, None], 0.0, 1.0
    if options.standardise != "none":
        training, *_ = _FILES.read(raw, "train")
        source += f"; {options.standardise} standardisation by the training images of all classes"
        if options.standardise == "global":
            mean, std = training.mean() / 255, training.std() / 255
        else:
            inputs = _standardised_pixels(images, training)
    return assemble(
        "fashion_mnist", count, source, inputs, labels, mean=mean, std=std, official_test=test
    )


def _standardised_pixels(images: np.ndarray, training: np.ndarray) -> np.ndarray:
    """float32 [N, 784]: (x - mean) / (standard deviation + 0.001) per pixel, in units of 0..255."""
    mean = training.mean(axis=0).astype(np.float32)
    std = training.std(axis=0).astype(np.float32)
    return ((images.astype(np.float32) - mean) / (std + np.float32(_PIXEL_OFFSET))).reshape(
        len(images), -1
    )
