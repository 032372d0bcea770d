"""Clients of equal size with class mixtures of their own (LDA, Hsu et al. 2019)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.partition import dirichlet_by_client
from fairfl.partition.dirichlet_by_client import Config, counts
from fairfl.partition.interface import PartitionError
from tests.unit.partition.partition_tables import rng, table


def assign(labels, clients, alpha, seed=0):
    return dirichlet_by_client.assign(table(labels), clients, Config(alpha=alpha), rng(seed))


@settings(max_examples=50)
@given(st.integers(10, 200), st.integers(1, 10), st.floats(1e-6, 5000), st.integers(1, 12), st.integers(0, 2**31))
def test_equal_sizes_of_different_samples(samples, clients, alpha, classes, seed):
    labels = rng(seed).integers(0, classes, samples)
    dealt = assign(labels, clients, alpha, seed)
    assert [len(own) for own in dealt.rows] == [samples // clients] * clients
    joined = np.concatenate(dealt.rows)
    assert len(np.unique(joined)) == len(joined)
    assert all((np.diff(own) > 0).all() for own in dealt.rows)
    left = samples % clients
    expected = [f"{left} samples are left over from equal shares of {samples // clients}"] if left else []
    assert dealt.remarks == dealt.changed == expected


def test_a_mixture_that_has_underflowed_is_drawn_for_the_classes_that_are_left():
    """Dir(1000, 3000) is nearly (1/4, 3/4), Dir(1e-5, 1e-5) nearly (1, 0) or (0, 1)."""
    q, left = np.array([1.0, 0.0, 0.0]), np.array([2, 90, 90])
    drawn = [counts(q, np.array([9.0, 1000.0, 3000.0]), left, 42, rng(seed)) for seed in range(40)]
    assert {own[0] for own in drawn} == {2}
    assert np.mean(drawn, axis=0)[1] == pytest.approx(10, abs=1.5)
    seen = {tuple(counts(q, np.full(3, 1e-5), left, 42, rng(seed)).tolist()) for seed in range(20)}
    assert seen == {(2, 40, 0), (2, 0, 40)}


def test_impossible_demands():
    with pytest.raises(PartitionError, match="3 samples are too few for 4 clients"):
        assign([0, 1, 2], 4, 0.5)
    with pytest.raises(PartitionError, match="texts, which have no class"):
        assign(np.zeros((30, 4), int), 3, 0.5)
    with pytest.raises(ValueError, match="alpha"):
        Config(alpha=0)
