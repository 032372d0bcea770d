"""DirtyMNIST: MNIST plus images that even people cannot tell for sure.

Mukhoti, Kirsch, van Amersfoort, Torr, Gal, "Deep Deterministic Uncertainty" (2023). The
publisher's loader (github.com/BlackHC/ddu_dirty_mnist) defines what is rebuilt here: each of the
ambiguous images stands in ten rows with ten sampled labels; the first 60000 rows are the training
part; images are standardised with mean 0.1307 and standard deviation 0.3081, then Gaussian noise
of standard deviation 0.05 is added once, to every row of both halves.

What differs: noise is stored with the images, as ``round(255 * x)`` clipped to 0..255. Rounding
moves a standardised value by at most 0.0064; clipping cuts the noise below black and above white.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from fairfl.data.checks import usable
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.data.mnist import FILES
from fairfl.experiments.base import Strict

_NAME = "dirty_mnist"
_TRAIN_ROWS = 60_000
_MEAN, _STD = 0.1307, 0.3081
_NOISE_SEED = 0
_CHUNK_ROWS = 8192
_BASE = "https://github.com/BlackHC/ddu_dirty_mnist/releases/download/data-v1.0.0/"
# Upstream publishes md5 only. It vouches for the files, so their contents are not checked again.
_AMBIGUOUS = tuple(
    RemoteFile(name, (_BASE + name,), md5=md5, magic="torch", folder=_NAME)
    for name, md5 in (
        ("amnist_samples.pt", "4f7865093b1d28e34019847fab917722"),
        ("amnist_labels.pt", "3bfc055a9f91a76d8d493e8b898c3c95"),
    )
)


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "test", "all"] = Field("train", description="published samples to take")
    noise_std: float = Field(
        0.05, ge=0, description="standard deviation of the noise on all images, white is 1"
    )


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The MNIST files of the part (in folder ``mnist``) and the two ambiguous files."""
    return FILES.of(options.part) + _AMBIGUOUS


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 1, 28, 28]: clean MNIST rows (ambiguous 0), then ambiguous rows (1).

    Training part: 60000 clean rows, each a separate group, and 60000 ambiguous rows in 6000
    groups of ten rows that share an image and differ in label (and in noise).

    Raises:
        SourceError: a file is missing or damaged.
    """
    part, noise_std = options.part, options.noise_std
    clean, clean_labels, _ = FILES.read(raw, part)
    # float [n, 1, 28, 28] in 0..1, and [n, 10]
    samples, labels = (_load(usable(raw, file, _NAME)) for file in _AMBIGUOUS)
    rows = {"train": slice(_TRAIN_ROWS), "test": slice(_TRAIN_ROWS, None), "all": slice(None)}[part]
    image_ids = np.repeat(np.arange(len(samples)), labels.shape[1])[rows]
    rng = np.random.default_rng(_NOISE_SEED)
    sd = noise_std * _STD
    every = np.arange(len(clean))
    inputs = np.concatenate(
        [
            _noisy_rows(clean, every, 255.0, sd, rng),
            _noisy_rows(samples[:, 0], image_ids, 1.0, sd, rng),
        ]
    )
    return assemble(
        _NAME,
        10,
        f"DirtyMNIST, part {part}, noise {noise_std} of a standardised image, drawn once",
        inputs[:, None],
        np.concatenate([clean_labels, labels.reshape(-1)[rows].astype(np.int64)]),
        groups=np.concatenate([every, len(clean) + image_ids]),
        ambiguous=np.repeat([0, 1], [len(clean), len(image_ids)]),
        mean=_MEAN,
        std=_STD,
    )


def _load(path: Path) -> np.ndarray:
    import torch

    # weights_only refuses to execute code that a pickle may carry.
    values: np.ndarray = torch.load(path, map_location="cpu", weights_only=True).numpy()
    return values


def _noisy_rows(
    images: np.ndarray, rows: np.ndarray, white: float, sd: float, rng: np.random.Generator
) -> np.ndarray:
    """uint8 [len(rows), 28, 28]: ``images[rows] / white`` plus noise of ``sd`` (white = 1)."""
    out = np.empty((len(rows), *images.shape[1:]), np.uint8)
    # In pieces: all rows of both halves as floats would take most of a gigabyte.
    for start in range(0, len(rows), _CHUNK_ROWS):
        piece = images[rows[start : start + _CHUNK_ROWS]].astype(np.float32) / np.float32(white)
        if sd > 0:
            piece += np.float32(sd) * rng.standard_normal(piece.shape, dtype=np.float32)
        out[start : start + len(piece)] = np.rint(np.clip(piece, 0, 1) * 255)
    return out
