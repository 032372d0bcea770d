"""A stand-in for DirtyMNIST that needs no ambiguous files: blends of two real digits.

It is not DirtyMNIST. What it shares is the structure: clean images with one label each, and
ambiguous images that stand in several rows with labels drawn from the classes they resemble.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from fairfl.data import digits
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.data.mnist import FILES
from fairfl.experiments.base import Natural, Strict, Whole

CLASSES = 10

_NAME = "ambiguous_digits"
# MNIST is standardised as in DirtyMNIST; the 8x8 digits are only scaled to 0..1.
_SCALE = {"digits": (0.0, 1.0), "mnist": (0.1307, 0.3081)}


class Config(Strict):
    """Options of the data set."""

    base: Literal["digits", "mnist"] = Field(
        "digits", description="digits: 1797 images, 8x8; mnist: 60000 training images, 28x28"
    )
    images: Natural = Field(600, description="distinct ambiguous images")
    labels_per_image: Natural = Field(
        10, description="rows per ambiguous image; 10: as in Ambiguous-MNIST"
    )
    weight_low: float = Field(0.4, ge=0, le=1, description="lower end of the range of w")
    weight_high: float = Field(0.6, ge=0, le=1, description="upper end")
    seed: Whole = Field(0, description="of the blends and labels; the run's seed has no influence")

    @model_validator(mode="after")
    def _range(self) -> "Config":
        if self.weight_low > self.weight_high:
            raise ValueError(
                f"weight_low is {self.weight_low}; expected <= weight_high {self.weight_high}"
            )
        return self


def files(options: Config) -> tuple[RemoteFile, ...]:
    """None for base "digits"; the MNIST training files (in folder ``mnist``) for "mnist"."""
    return FILES.of("train") if options.base == "mnist" else ()


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 1, H, W]: clean rows (ambiguous 0), then ambiguous rows (ambiguous 1).

    An ambiguous image is ``w * a + (1 - w) * b`` for clean images a and b of different classes
    and ``w ~ U(weight_low, weight_high)``. It stands in ``labels_per_image`` consecutive rows of
    one group; each row's label is the class of a with probability w, else the class of b.

    Raises:
        SourceError, DataError: a file of the base is missing, damaged or not as expected.
    """
    base = options.base
    clean, labels = FILES.read(raw, "train")[:2] if base == "mnist" else digits.read()
    blends, blend_labels = _blend(clean, labels, options)
    count, rows = options.images, options.labels_per_image
    source = (
        f"stand-in for DirtyMNIST: {len(clean)} clean images of {base} and "
        f"{count} blends of two of them with {rows} sampled labels each"
    )
    mean, std = _SCALE[base]
    return assemble(
        _NAME,
        CLASSES,
        source,
        np.concatenate([clean, np.repeat(blends, rows, axis=0)])[:, None],
        np.concatenate([labels, blend_labels.reshape(-1)]),
        groups=np.concatenate(
            [np.arange(len(clean)), len(clean) + np.repeat(np.arange(count), rows)]
        ),
        ambiguous=np.repeat([0, 1], [len(clean), count * rows]),
        mean=mean,
        std=std,
    )


def _blend(clean: np.ndarray, labels: np.ndarray, options: Config) -> tuple[np.ndarray, np.ndarray]:
    """Blended images uint8 [images, H, W] and their labels int64 [images, labels_per_image]."""
    rng = np.random.default_rng(options.seed)
    count, rows = options.images, options.labels_per_image
    first = rng.integers(len(clean), size=count)
    # Drawn from all images of the other classes alike, without trial and error.
    by_class = np.argsort(labels, kind="stable")
    start = np.searchsorted(labels[by_class], labels[first], side="left")
    size = np.bincount(labels, minlength=CLASSES)[labels[first]]
    offset = rng.integers(len(clean) - size)
    second = by_class[np.where(offset < start, offset, offset + size)]
    weight = rng.uniform(options.weight_low, options.weight_high, size=count)
    w = weight[:, None, None]
    images = np.rint(w * clean[first] + (1 - w) * clean[second]).astype(np.uint8)
    takes_first = rng.random((count, rows)) < weight[:, None]
    return images, np.where(takes_first, labels[first][:, None], labels[second][:, None])
