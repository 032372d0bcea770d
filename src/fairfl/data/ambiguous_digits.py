"""A stand-in for DirtyMNIST that needs no ambiguous files: blends of two real digits.

It is not DirtyMNIST. What it shares is the structure: clean images with one label each, and
ambiguous images that stand in several rows with labels drawn from the classes they resemble.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data import digits, mnist
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.data.options import choice, merge, number, whole
from fairfl.runtime.errors import OptionError

CLASSES = 10
PER_SEED = False
DEFAULTS: dict[str, Any] = {
    "base": "digits",
    "images": 600,
    "labels_per_image": 10,
    "weight_low": 0.4,
    "weight_high": 0.6,
    "seed": 0,
}

_NAME = "ambiguous_digits"
# MNIST is standardised as in DirtyMNIST; the 8x8 digits are only scaled to 0..1.
_SCALE = {"digits": (0.0, 1.0), "mnist": (0.1307, 0.3081)}


def files(options: dict[str, Any]) -> tuple[RemoteFile, ...]:
    """None for base "digits"; the MNIST training files (in folder ``mnist``) for "mnist"."""
    return mnist.files({"part": "train"}) if _checked(options)["base"] == "mnist" else ()


def prepare(raw: Path | None, options: dict[str, Any], seed: int) -> Prepared:
    """inputs uint8 [N, 1, H, W]: clean rows (ambiguous 0), then ambiguous rows (ambiguous 1).

    An ambiguous image is ``w * a + (1 - w) * b`` for clean images a and b of different classes
    and ``w ~ U(weight_low, weight_high)``. It stands in ``labels_per_image`` consecutive rows of
    one group; each row's label is the class of a with probability w, else the class of b.

    Options:
        base: "digits" (default; 1797 images, 8x8) or "mnist" (60000 training images, 28x28).
        images: distinct ambiguous images (default 600).
        labels_per_image: rows per ambiguous image (default 10, as in Ambiguous-MNIST).
        weight_low, weight_high: range of w within 0..1 (default 0.4, 0.6).
        seed: of the blends and labels (default 0); the run's seed has no influence.

    Raises:
        OptionError: an unknown option or a value that is not allowed.
        SourceError, DataError: a file of the base is missing, damaged or not as expected.
    """
    chosen = _checked(options)
    base = chosen["base"]
    clean, labels = mnist.read(raw, {"part": "train"}) if base == "mnist" else digits.read()
    blends, blend_labels = _blend(clean, labels, chosen)
    count, rows = chosen["images"], chosen["labels_per_image"]
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
        groups=np.concatenate([np.arange(len(clean)), len(clean) + np.repeat(np.arange(count), rows)]),
        ambiguous=np.repeat([0, 1], [len(clean), count * rows]),
        mean=mean,
        std=std,
    )


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    chosen = merge(_NAME, options, DEFAULTS)
    choice(_NAME, "base", chosen["base"], _SCALE)
    for name, low in (("images", 1), ("labels_per_image", 1), ("seed", 0)):
        whole(_NAME, name, chosen[name], low)
    low = number(_NAME, "weight_low", chosen["weight_low"], 0.0, 1.0)
    high = number(_NAME, "weight_high", chosen["weight_high"], 0.0, 1.0)
    if low > high:
        raise OptionError(f"{_NAME}: option weight_low is {low}; expected <= weight_high {high}")
    return chosen


def _blend(clean: np.ndarray, labels: np.ndarray, chosen: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Blended images uint8 [images, H, W] and their labels int64 [images, labels_per_image]."""
    rng = np.random.default_rng(chosen["seed"])
    count, rows = chosen["images"], chosen["labels_per_image"]
    first = rng.integers(len(clean), size=count)
    # Drawn from all images of the other classes alike, without trial and error.
    by_class = np.argsort(labels, kind="stable")
    start = np.searchsorted(labels[by_class], labels[first], side="left")
    size = np.bincount(labels, minlength=CLASSES)[labels[first]]
    offset = rng.integers(len(clean) - size)
    second = by_class[np.where(offset < start, offset, offset + size)]
    weight = rng.uniform(chosen["weight_low"], chosen["weight_high"], size=count)
    w = weight[:, None, None]
    images = np.rint(w * clean[first] + (1 - w) * clean[second]).astype(np.uint8)
    takes_first = rng.random((count, rows)) < weight[:, None]
    return images, np.where(takes_first, labels[first][:, None], labels[second][:, None])
