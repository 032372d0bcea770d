"""Cut of one client's samples into training, validation and test parts, by the setting's `split`."""

import math
from functools import cache
from typing import Any

import numpy as np

from fairfl.partition.interface import PartitionError, Table
from fairfl.partition.partition_file import PARTS


def cut(
    rows: np.ndarray, table: Table, split: dict[str, Any], rng: np.random.Generator
) -> np.ndarray:
    """Part (0 train, 1 validation, 2 test) of each row, [n] int8; `rows` ascend.

    split.order: shuffled (drawn from `rng`), stored (the client's samples as they are stored), stored_one_more,
    stored_by_class, or official: the test part is the data set's own, the other samples are shuffled and cut.
    Raises PartitionError if samples have no classes, or the data have no test part of their own.
    """
    by_row = split["order"] in ("stored_one_more", "stored_by_class")
    if by_row and len(np.unique(table.groups[rows])) < len(rows):
        raise PartitionError(
            f"split.order: {split['order']} cuts row by row, and some images of the data have several"
        )
    if split["order"] == "stored_one_more":
        return _one_more(len(rows), split)
    if split["order"] == "stored_by_class":
        return _class_by_class(rows, table, split)
    if split["order"] == "official":
        if table.official_test is None:
            raise PartitionError(
                "split.order: official needs data with a test part of their own, these have none"
            )
        parts = np.full(len(rows), PARTS.index("test"), dtype=np.int8)
        seen = ~table.official_test[rows]
        if seen.any():
            parts[seen] = cut(rows[seen], table, {**split, "order": "shuffled"}, rng)
        return parts
    groups, shares = table.groups[rows], tuple(split[part] for part in PARTS)
    if (groups[1:] > groups[:-1]).all():
        # The usual case, and quick where clients are many: each row is a group.
        order = rng.permutation(len(rows)) if split["order"] == "shuffled" else np.arange(len(rows))
        result = np.empty(len(rows), dtype=np.int8)
        result[order] = _single_rows(len(rows), shares)
        return result
    names, place, first = np.unique(groups, return_index=True, return_inverse=True)
    order = rng.permutation(len(names)) if split["order"] == "shuffled" else np.argsort(place)
    result = np.empty(len(names), dtype=np.int8)
    result[order] = _whole_groups(np.bincount(first, minlength=len(names))[order], shares)
    return result[first]


@cache
def _single_rows(n: int, shares: tuple[float, ...]) -> np.ndarray:
    """Part of each of n rows that are groups of their own. Many clients have as many."""
    return _whole_groups(np.ones(n, dtype=np.int64), shares)


def _whole_groups(sizes: np.ndarray, shares: tuple[float, ...]) -> np.ndarray:
    """Part of each group, training first; `sizes` are the numbers of rows.

    Rows of one group (copies of one image with other labels) stay in one part. Every part with a positive
    fraction gets at least one group if there are enough of them; training is served first.
    """
    used = np.flatnonzero(shares)
    # A group belongs to the part in which its middle row falls, so parts miss their share by half a group at most.
    middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    first = np.searchsorted(middle, np.cumsum([0, *np.take(shares, used)])[:-1])
    if (spare := len(sizes) - len(used)) >= 0:
        # Parts so small that they got nothing take the group at their border.
        place = np.arange(len(used))
        first = np.maximum.accumulate(first - place).clip(max=spare) + place
    return np.repeat(used, np.diff([*first, len(sizes)]))


def _class_by_class(rows: np.ndarray, table: Table, split: dict[str, Any]) -> np.ndarray:
    """Part of each row. The rule of VRed's data, by FairFL, the public code of the same group.

    Of the client's n samples of a class, in stored order, the first floor((train + validation) n) are for training
    and validation, the rest is for the test; of these m, the first floor(train / (train + validation) m) are for
    training. A part may get nothing.
    """
    labels = table.classes[rows]
    total = split["train"] + split["validation"]
    parts = np.empty(len(rows), dtype=np.int8)
    for label in np.unique(labels):
        piece = np.flatnonzero(labels == label)
        seen = _floor(total * len(piece))
        train = _floor(split["train"] / total * seen)
        parts[piece] = np.repeat([0, 1, 2], [train, seen - train, len(piece) - seen])
    return parts


def _one_more(n: int, split: dict[str, Any]) -> np.ndarray:
    """Part of each of n rows. The rule of VRed's texts, by FairFL, the public code of the same group.

    The first ceil((train + validation) n) + 1 are for training and validation, the rest is for the test; of these m,
    the first floor(train / (train + validation) m) are for training.
    """
    total = split["train"] + split["validation"]
    seen = min(n, -_floor(-total * n) + 1)
    train = _floor(split["train"] / total * seen)
    return np.repeat(np.array([0, 1, 2], dtype=np.int8), [train, seen - train, n - seen])


def _floor(value: float) -> int:
    """1e-9: 0.29 x 100 is 28.999999999999996 in floating point."""
    return math.floor(value + 1e-9)
