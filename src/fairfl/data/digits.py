"""The 1797 real handwritten digits, 8x8, that ship with scikit-learn: no file to fetch.

Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits" (UCI), test part,
in the copy ``sklearn/datasets/data/digits.csv.gz``.
"""

import gzip
import importlib.util
import zlib
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from fairfl.data import classes
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import DISTINCT, Strict
from fairfl.runtime.errors import DataError

CLASSES = 10
PER_SEED = False

_IMAGES = 1797


class Config(Strict):
    """Options of the data set."""

    classes: Annotated[list[Annotated[int, Field(ge=0, lt=10)]], Field(min_length=2), DISTINCT] | None = Field(
        None, description="labels to keep, which become 0, 1, ... in the order given; null: all"
    )


def files(options: Config) -> tuple[RemoteFile, ...]:
    """None: the images come with scikit-learn."""
    return ()


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 1, 8, 8], N = 1797: pixel values 0..16 become ``round(255 * x / 16)``.

    Raises:
        DataError: scikit-learn is not installed or its copy is not as expected.
    """
    kept = options.classes
    images, labels = read()
    source = "optical recognition of handwritten digits (UCI) as shipped with scikit-learn"
    if kept is not None:
        images, labels = classes.keep(images, labels, kept, CLASSES)
        source += f"; classes {kept} only"
    return assemble("digits", CLASSES if kept is None else len(kept), source, images[:, None], labels)


def read() -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 [1797, 8, 8] and labels int64 [1797]; also for data sets built on these."""
    return _unpacked(_packaged_file())


def _unpacked(path: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        # The packaged table is read directly: importing scikit-learn takes a second or more.
        text = gzip.decompress(path.read_bytes()).decode("ascii")
        table = np.array([row.split(",") for row in text.split()], dtype=np.float64)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(f"digits: cannot read {path.name} of scikit-learn ({error})") from error
    if table.shape != (_IMAGES, 65):
        raise DataError(f"digits: {path.name} is {table.shape}; expected ({_IMAGES}, 65)")
    pixels, labels = table[:, :64], table[:, 64]
    if not ((pixels >= 0) & (pixels <= 16)).all():
        raise DataError(f"digits: {path.name} has pixel values outside 0..16")
    images = np.rint(pixels * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8)
    return images, labels.astype(np.int64)


def _packaged_file() -> Path:
    spec = importlib.util.find_spec("sklearn")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, "datasets", "data", "digits.csv.gz")
        if path.is_file():
            return path
    raise DataError("digits: scikit-learn is not installed (pip install scikit-learn)")
