"""Some classes of a data set only: the option ``classes`` of data sets that offer it."""

from __future__ import annotations

import numpy as np

from fairfl.runtime.errors import OptionError
from fairfl.runtime.plain import shown


def checked(dataset: str, classes: object, total: int) -> list[int] | None:
    """The option's value; raises OptionError unless it is null or two or more different labels."""
    if classes is None:
        return None
    known = isinstance(classes, list | tuple) and all(type(label) is int and 0 <= label < total for label in classes)
    if not known or not 2 <= len(classes) == len(set(classes)):
        expected = f"null or two or more different labels of 0..{total - 1}"
        raise OptionError(f"{dataset}: option classes is {shown(classes)}; expected {expected}")
    return list(classes)


def keep(images: np.ndarray, labels: np.ndarray, classes: list[int], total: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of these classes in the order of the data, with the classes' positions as labels."""
    position = np.full(total, -1)
    position[classes] = np.arange(len(classes))
    kept = position[labels] >= 0
    return images[kept], position[labels[kept]]
