"""The 1797 real handwritten digits, 8x8, that ship with scikit-learn: no file to fetch.

Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits" (UCI), test part,
in the copy ``sklearn/datasets/data/digits.csv.gz``.
"""

import importlib.util
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from fairfl.data import classes
from fairfl.data.interface import Prepared, assemble
from fairfl.experiments.base import DISTINCT, Strict


class Config(Strict):
    """Options of the data set."""

    classes: (
        Annotated[list[Annotated[int, Field(ge=0, lt=10)]], Field(min_length=2), DISTINCT] | None
    ) = Field(
        None, description="labels to keep, which become 0, 1, ... in the order given; null: all"
    )


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 1, 8, 8], N = 1797: pixel values 0..16 become ``round(255 * x / 16)``."""
    chosen = options.classes or range(10)
    images, labels = read()
    rows, labels = classes.keep(labels, chosen)
    source = "optical recognition of handwritten digits (UCI) as shipped with scikit-learn"
    if options.classes is not None:
        source += f"; classes {chosen} only"
    return assemble("digits", len(chosen), source, images[rows][:, None], labels)


def read() -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 [1797, 8, 8] and labels int64 [1797]; also for data sets built on these."""
    # The packaged table is read directly: importing scikit-learn takes a second or more.
    package = importlib.util.find_spec("sklearn").submodule_search_locations[0]  # type: ignore[union-attr, index]
    table = np.loadtxt(Path(package, "datasets", "data", "digits.csv.gz"), delimiter=",")
    images = np.rint(table[:, :64] * (255 / 16)).astype(np.uint8)
    return images.reshape(-1, 8, 8), table[:, 64].astype(np.int64)
