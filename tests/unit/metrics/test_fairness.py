"""Metrics against numpy, scipy and scikit-learn on random inputs; worked numbers; edge cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairfl.metrics import fairness

LOSS, BEST = [0.5, 0.8, 1.2], [0.4, 0.9, 0.7]


def test_worked_gaps():
    r = fairness.gaps(LOSS, BEST)
    assert r.tolist() == pytest.approx([0.1, -0.1, 0.5])
    assert fairness.gap_max(r) == pytest.approx(0.5)
    assert fairness.gap_min(r) == pytest.approx(-0.1)
    assert fairness.gap_var(r, ddof=0) == pytest.approx(0.062222, abs=1e-6)
    assert fairness.gap_var(r) == pytest.approx(0.093333, abs=1e-6)
    assert fairness.faa(r) == pytest.approx(0.6)
    assert fairness.agnostic_loss(LOSS) == 1.2


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=30))
def test_gap_var_is_the_sample_variance(values):
    assert fairness.gap_var(values) == pytest.approx(stats.tvar(values), abs=1e-9)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.floats(-3, 3))
def test_shifting_all_gaps(values, shift):
    r = np.array(values)
    assert fairness.gap_var(r + shift) == pytest.approx(fairness.gap_var(r), abs=1e-8)
    assert fairness.gap_max(r + shift) == pytest.approx(fairness.gap_max(r) + shift)
    assert fairness.faa(r + shift) == pytest.approx(fairness.faa(r), abs=1e-12)  # an equal burden is fair


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30))
def test_faa_is_the_largest_difference_of_two_clients(values):
    assert fairness.faa(values) == max(abs(a - b) for a in values for b in values)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=30), st.floats(0, 1))
def test_with_equal_optima_faa_is_the_agnostic_loss_less_the_smallest_one(loss, bayes):
    """FOCUS appendix C: of clients with identical distributions."""
    assert fairness.faa(fairness.gaps(loss, [bayes] * len(loss))) == pytest.approx(
        fairness.agnostic_loss(loss) - min(loss), abs=1e-12
    )


def test_one_client_has_no_variance():
    assert fairness.gap_var([0.3]) == 0.0
    assert np.isnan(fairness.gap_var([np.nan]))


def test_nan_stays_nan():
    r = [0.1, np.nan, 0.2]
    for metric in (fairness.gap_max, fairness.gap_min, fairness.gap_var, fairness.faa, fairness.accuracy_mean,
                   fairness.agnostic_loss, fairness.loss_mean, fairness.loss_std):  # fmt: skip
        assert np.isnan(metric(r))


def test_the_gap_of_two_clients_is_the_difference_of_their_losses():
    assert fairness.loss_gap([8.0, 2.5]) == 5.5  # FedEBA+ figure 1
    assert fairness.loss_gap([3.0]) == 0
