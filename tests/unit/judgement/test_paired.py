"""Differences over the same seeds: an example by hand, scipy's paired test, and what must not be told."""

import math

import pytest
from scipy import stats

from fairfl.judgement.paired import paired


def test_an_example_by_hand():
    """Differences 1, 2, 3: mean 2, deviation 1, t of two degrees of freedom at 97.5 % is 4.302653."""
    one = paired({0: 11.0, 1: 22.0, 2: 33.0}, {0: 10.0, 1: 20.0, 2: 30.0, 3: 99.0})
    assert (one.difference, one.seeds) == (2.0, 3)
    assert one.low == pytest.approx(2 - 4.302653 / math.sqrt(3), rel=1e-6)
    assert one.high == pytest.approx(2 + 4.302653 / math.sqrt(3), rel=1e-6)
    assert one.p == pytest.approx(stats.ttest_rel([11, 22, 33], [10, 20, 30]).pvalue)


def test_one_seed_has_no_interval_and_equal_differences_an_empty_one():
    one = paired({3: 2.0}, {3: 1.5})
    assert (one.difference, one.seeds) == (0.5, 1) and math.isnan(one.low) and math.isnan(one.p)
    same = paired({0: 1.3, 1: 2.3}, {0: 1.0, 1: 2.0})
    assert same.low == same.high == same.difference == pytest.approx(0.3) and math.isnan(same.p)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_seed_that_diverged_is_not_left_out(value):
    one = paired({0: 1.0, 1: value}, {0: 1.0, 1: 1.0})
    assert math.isnan(one.difference) and math.isnan(one.low) and one.seeds == 2
