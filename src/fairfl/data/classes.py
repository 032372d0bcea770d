"""Some classes of a data set only: the option ``classes`` of data sets that offer it."""

from collections.abc import Sequence

import numpy as np


def keep(labels: np.ndarray, classes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Which rows [N] are of these classes, bool, and the labels of those rows: the classes' positions."""
    own = labels[:, None] == np.array(classes)
    kept = own.any(axis=1)
    return kept, own[kept].argmax(axis=1)
