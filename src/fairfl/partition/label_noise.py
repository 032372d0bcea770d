"""Symmetric flips of training labels. FedEBA+ appendix M.4, after Fang and Ye 2022; Jiang et al. 2022.

A label is replaced with probability r by one of the C - 1 other classes, each with the same chance: the transition
matrix is 1 - r on the diagonal and r / (C - 1) elsewhere. With r = (C - 1) / C nothing is left of the labels.
"""

import numpy as np

from fairfl.partition.interface import PartitionError


def flipped(labels: np.ndarray, ratio: float, classes: int, rng: np.random.Generator) -> np.ndarray:
    """Labels [n] of classes 0 .. C-1 after the flips, as a new array; `ratio` is a fraction.

    Raises PartitionError if the labels are not classes, or of one class only.
    """
    if labels.ndim != 1 or labels.dtype.kind != "i":
        kind = "numbers to predict" if labels.dtype.kind == "f" else "words to predict"
        raise PartitionError(f"label_noise flips classes, and the samples have {kind}")
    if classes < 2:
        raise PartitionError("label_noise flips classes, and the samples have only one")
    other = (labels + rng.integers(1, classes, len(labels))) % classes
    return np.where(rng.random(len(labels)) < ratio, other, labels)
