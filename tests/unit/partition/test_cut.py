"""The cut of one client's samples: shares, whole groups, the three orders."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.partition.cut import cut
from fairfl.partition.interface import PartitionError
from tests.unit.partition.partition_tables import SPLIT, rng, table


def parts_of(data, split=SPLIT, seed=0, **changes):
    return cut(np.arange(len(data.labels)), data, split | changes, rng(seed))


def unlabelled(count):
    return table(np.zeros(count, int))


@pytest.mark.parametrize("order", ["shuffled", "stored"])
@settings(max_examples=50, deadline=None)
@given(st.integers(3, 40), st.integers(0, 1000))
def test_cut_keeps_groups_together(order, images, seed):
    groups = np.repeat(np.arange(images), 10)
    parts = parts_of(table(np.zeros(len(groups), int), groups), seed=seed, order=order)
    assert all(len(set(parts[groups == g])) == 1 for g in range(images))
    assert set(parts) == {0, 1, 2}


@pytest.mark.parametrize(("samples", "sizes"), [(10, (6, 4)), (11, (7, 4)), (2, (2, 0)), (1, (1, 0))])
def test_one_more_than_half_rounded_up(samples, sizes):
    half = {"train": 0.5, "validation": 0.0, "test": 0.5, "order": "stored_one_more"}
    assert parts_of(unlabelled(samples), half).tolist() == [0] * sizes[0] + [2] * sizes[1]


def test_what_tuning_holds_out_comes_from_the_training_samples_of_the_same_cut():
    tuned = {"train": 0.4, "validation": 0.1, "test": 0.5, "order": "stored_one_more"}
    assert np.bincount(parts_of(unlabelled(11), tuned)).tolist() == [5, 2, 4]


def test_stored_is_train_then_validation_then_test():
    assert list(parts_of(unlabelled(10), order="stored")) == [0] * 6 + [1] * 2 + [2] * 2


def test_by_class_each_piece_is_cut_by_itself():
    """Class 0 has 5 rows, class 1 has 3, class 2 has 1: floor(0.8 n) are 4, 2, 0 and floor(0.75 of them) 3, 1, 0."""
    data = table([0, 1, 0, 2, 0, 1, 0, 1, 0])
    parts = parts_of(data, train=0.6, validation=0.2, order="stored_by_class")
    assert list(parts[data.labels == 0]) == [0, 0, 0, 1, 2]
    assert list(parts[data.labels == 1]) == [0, 1, 2]
    assert list(parts[data.labels == 2]) == [2]


def test_by_class_copies_of_an_image_are_refused():
    for order in ("stored_by_class", "stored_one_more"):
        with pytest.raises(PartitionError, match=f"{order} cuts row by row"):
            parts_of(table([0, 1, 1], [0, 0, 1]), order=order)


# -- the data set's own test part --------------------------------------------------------------------------
OFFICIAL = {"train": 0.75, "validation": 0.25, "test": 0.0, "order": "official"}


def test_official_needs_data_with_a_test_part():
    with pytest.raises(PartitionError, match="a test part of their own"):
        parts_of(unlabelled(5), OFFICIAL)
