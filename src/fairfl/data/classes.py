"""Some classes of a data set only: the option ``classes`` of data sets that offer it."""

from collections.abc import Sequence

import numpy as np


def keep(labels: np.ndarray, classes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of these classes, bool [N], and the labels of those rows: the classes' positions."""
    is_class = labels[:, None] == np.array(classes)
    rows = is_class.any(axis=1)
    return rows, is_class[rows].argmax(axis=1)
