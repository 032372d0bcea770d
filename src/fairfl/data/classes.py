"""Some classes of a data set only: the option ``classes`` of data sets that offer it."""

from __future__ import annotations

import numpy as np


def keep(images: np.ndarray, labels: np.ndarray, classes: list[int], total: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of these classes in the order of the data, with the classes' positions as labels."""
    position = np.full(total, -1)
    position[classes] = np.arange(len(classes))
    kept = position[labels] >= 0
    return images[kept], position[labels[kept]]
