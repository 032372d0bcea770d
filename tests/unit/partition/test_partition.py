"""Partitioners and the cut: invariants over random inputs, worked examples, impossible demands."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.partition import ambiguous_fraction, dirichlet_by_class, label_shards, plain
from fairfl.partition.__main__ import partition, statistics
from fairfl.partition.cut import cut
from fairfl.partition.interface import PartitionError, Table


def table(labels, groups=None, ambiguous=None, client=None):
    labels = np.asarray(labels)
    return Table(labels, np.arange(len(labels)) if groups is None else np.asarray(groups), ambiguous, client)


def rng(seed=0):
    return np.random.default_rng(seed)


def disjoint(rows, total=None):
    joined = np.concatenate(rows)
    assert len(np.unique(joined)) == len(joined)
    if total is not None:
        assert len(joined) == total


@settings(max_examples=40, deadline=None)
@given(st.floats(1e-6, 5000), st.integers(1, 12), st.integers(0, 2**31))
def test_dirichlet_deals_every_sample_once_and_nobody_starves(alpha, clients, seed):
    labels = rng(seed).integers(0, 10, 400)
    config = dirichlet_by_class.Config(alpha=alpha, min_samples=5, max_draws=3)
    assignment = dirichlet_by_class.assign(table(labels), clients, config, rng(seed))
    disjoint(assignment.rows, 400)
    assert min(map(len, assignment.rows)) >= 5
    assert len(assignment.remarks) == 1


def test_tiny_alpha_ends_and_says_what_it_did():
    config = dirichlet_by_class.Config(alpha=1e-4, min_samples=10, max_draws=5)
    assignment = dirichlet_by_class.assign(table(np.zeros(200, int)), 10, config, rng())
    assert min(map(len, assignment.rows)) == 10
    assert "none of 5 draws" in assignment.remarks[0]


def test_large_alpha_is_near_uniform():
    labels = np.repeat(np.arange(10), 500)
    config = dirichlet_by_class.Config(alpha=2000)
    sizes = [len(r) for r in dirichlet_by_class.assign(table(labels), 10, config, rng()).rows]
    assert max(sizes) < 1.1 * 500 and min(sizes) > 0.9 * 500


def test_cumulative_shares_are_floored_once():
    rows = dirichlet_by_class.deal(np.zeros(10, int), {0: np.array([0.05, 0.35, 0.6])}, 3, rng())
    assert [len(r) for r in rows] == [0, 4, 6]


def test_dirichlet_with_too_few_samples():
    config = dirichlet_by_class.Config(alpha=1.0, min_samples=10)
    with pytest.raises(PartitionError, match="99 samples cannot give each of 10 clients at least 10"):
        dirichlet_by_class.assign(table(np.zeros(99, int)), 10, config, rng())


@pytest.mark.parametrize("alpha", [0, -1, float("nan"), float("inf")])
def test_impossible_alpha(alpha):
    with pytest.raises(ValueError):
        dirichlet_by_class.Config(alpha=alpha)


def test_plain_takes_the_clients_of_the_data():
    rows = plain.assign(table([0, 1, 0, 1], client=np.array([1, 0, 1, 0])), 2, plain.Config(), rng()).rows
    assert [list(r) for r in rows] == [[1, 3], [0, 2]]
    with pytest.raises(PartitionError, match="2 clients, the setting asks for 3"):
        plain.assign(table([0, 1], client=np.array([0, 1])), 3, plain.Config(), rng())


def test_plain_deals_evenly():
    rows = plain.assign(table(np.zeros(10, int)), 3, plain.Config(), rng()).rows
    disjoint(rows, 10)
    assert sorted(map(len, rows)) == [3, 3, 4]


def dirty(images=20, copies=10, clean=300):
    groups = np.concatenate([np.arange(clean), clean + np.repeat(np.arange(images), copies)])
    flags = np.arange(len(groups)) >= clean
    return table(np.zeros(len(groups), int), groups, flags)


def test_ambiguous_fractions_are_exact():
    data = dirty()
    config = ambiguous_fraction.Config(fractions=[0, 0.5, 1], per_client=60)
    rows = ambiguous_fraction.assign(data, 3, config, rng()).rows
    disjoint(rows, 180)
    assert [int(data.ambiguous[r].sum()) for r in rows] == [0, 30, 60]


def test_copies_of_an_image_stay_with_one_client():
    data = dirty()
    config = ambiguous_fraction.Config(fractions=[1, 1], per_client=75)
    rows = ambiguous_fraction.assign(data, 2, config, rng()).rows
    assert not set(data.groups[rows[0]]) & set(data.groups[rows[1]])


def test_ambiguous_demands_that_cannot_be_met():
    config = ambiguous_fraction.Config(fractions=[1, 1], per_client=200)
    with pytest.raises(PartitionError, match="ambiguous rows are missing"):
        ambiguous_fraction.assign(dirty(), 2, config, rng())
    with pytest.raises(PartitionError, match="2 fractions for 3 clients"):
        ambiguous_fraction.assign(dirty(), 3, config, rng())
    with pytest.raises(PartitionError, match="`ambiguous` flag"):
        ambiguous_fraction.assign(table([0, 1]), 2, config, rng())
    with pytest.raises(ValueError, match="between 0 and 1"):
        ambiguous_fraction.Config(fractions=[1.5], per_client=5)


def test_label_shards_example():
    pieces = label_shards.shards(np.array([0, 1, 0, 1, 2, 2, 0, 1]), 2, 2)
    assert [list(p) for p in pieces] == [[0, 2], [6, 1], [3, 7], [4, 5]]


def test_label_shards_give_few_labels_and_equal_sizes():
    labels = rng().permutation(np.repeat(np.arange(10), 100))
    rows = label_shards.assign(table(labels), 50, label_shards.Config(shards_per_client=2), rng()).rows
    disjoint(rows, 1000)
    assert {len(r) for r in rows} == {20}
    assert max(len(np.unique(labels[r])) for r in rows) <= 2


def test_more_shards_than_samples():
    with pytest.raises(PartitionError, match="20 shards are more than 19 samples"):
        label_shards.assign(table(np.zeros(19, int)), 10, label_shards.Config(shards_per_client=2), rng())


SPLIT = {"train": 0.6, "validation": 0.2, "test": 0.2}


@given(st.integers(3, 200), st.integers(0, 1000))
def test_cut_serves_every_part(count, seed):
    parts = cut(np.arange(count), np.arange(count), SPLIT, rng(seed))
    sizes = np.bincount(parts, minlength=3)
    assert sizes.sum() == count and sizes.min() >= 1
    assert abs(sizes[0] - 0.6 * count) <= 2


@given(st.integers(3, 40), st.integers(0, 1000))
def test_cut_keeps_groups_together(images, seed):
    groups = np.repeat(np.arange(images), 10)
    parts = cut(np.arange(len(groups)), groups, SPLIT, rng(seed))
    assert all(len(set(parts[groups == g])) == 1 for g in range(images))
    assert set(parts) == {0, 1, 2}


def test_cut_without_a_test_part():
    parts = cut(np.arange(10), np.arange(10), {"train": 0.5, "validation": 0.5, "test": 0.0}, rng())
    assert list(np.bincount(parts, minlength=3)) == [5, 5, 0]


def spec(**changes):
    base = {
        "data": {"name": "x", "stands_in_for": None},
        "samples": None,
        "clients": 4,
        "partition": {"name": "dirichlet_by_class", "alpha": 0.5},
        "split": SPLIT,
        "seed": 0,
    }
    return base | changes


def tensors(count=300):
    return {"labels": rng(1).integers(0, 3, count), "groups": np.arange(count)}


def test_same_seed_same_partition():
    first, again = partition(spec(), tensors())[0], partition(spec(), tensors())[0]
    other = partition(spec(seed=1), tensors())[0]
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert not np.array_equal(first["row"], other["row"])


def test_subset_of_samples():
    columns, _ = partition(spec(samples=100), tensors())
    assert len(np.unique(columns["row"])) == len(columns["row"]) == 100
    with pytest.raises(PartitionError, match="samples is 301, the data set has only 300"):
        partition(spec(samples=301), tensors())


def test_statistics_count_labels():
    data = tensors()
    columns, remarks = partition(spec(), data)
    lines = statistics(columns, data["labels"], remarks, "digits (stand-in for emnist)").splitlines()
    assert len(lines) == 1 + 4 * 3
    assert lines[0] == "client,part,samples,label_0,label_1,label_2,data,remarks"
    assert sum(int(line.split(",")[2]) for line in lines[1:]) == 300
    assert "digits (stand-in for emnist)" in lines[1]
