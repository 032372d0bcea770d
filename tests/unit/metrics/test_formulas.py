"""Metrics over clients, groups and rounds: limits and published numbers. Formulas: tests/unit/test_reference.py."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from fairfl.metrics import accuracy, baseline, fairness
from fairfl.metrics.accuracy import (
    accuracy_highest,
    accuracy_lowest,
    accuracy_std,
    accuracy_worst,
    angle_deg,
    cv,
    kl_uniform,
)
from fairfl.metrics.clusters import adjusted_rand, assigned
from fairfl.metrics.progress import accuracy_area, rounds_to_accuracy


def test_one_client_has_no_variance():
    assert fairness.gap_var([0.3]) == 0.0
    assert np.isnan(fairness.gap_var([np.nan]))


@pytest.mark.parametrize("r", [[np.nan, 0.5, 0.9], [0.1, np.nan, 0.9], [0.1, 0.5, np.nan]])
def test_nan_stays_nan(r):
    for metric in (fairness.gap_max, fairness.gap_min, fairness.gap_var, fairness.faa, fairness.accuracy_mean,
                   fairness.agnostic_loss, fairness.loss_mean, fairness.loss_std,
                   accuracy_std, accuracy_worst):  # fmt: skip
        assert np.isnan(metric(r))
    assert np.isnan([accuracy_lowest(r, 10), accuracy_highest(r, 10)]).all()


def test_the_gap_of_two_clients_is_the_difference_of_their_losses():
    assert fairness.loss_gap([8.0, 2.5]) == 5.5  # FedEBA+ figure 1


@pytest.mark.parametrize(
    ("clients", "percent", "expected"),
    [(100, 5, 5), (50, 10, 5), (50, 20, 10), (20, 10, 2), (20, 20, 4), (200, 5, 10), (10, 5, 1), (1, 10, 1), (39, 5, 1),
     (100, 29, 29), (100, 7, 7)],
)  # fmt: skip
def test_tail_is_rounded_down_and_never_empty(clients, percent, expected):
    assert accuracy.tail(clients, percent) == expected


def test_equal_accuracies_are_even_and_zero_ones_have_no_measure():
    same = np.full(7, 0.4)
    assert [cv(same), angle_deg(same), kl_uniform(same)] == pytest.approx([0, 0, 0], abs=1e-12)
    nothing = np.zeros(3)
    assert np.isnan([cv(nothing), angle_deg(nothing), kl_uniform(nothing)]).all()
    assert kl_uniform([1.0, 0.0]) == pytest.approx(np.log(2))  # 0 ln 0 = 0


# -- A run beside a baseline; VRed's table 1 is in test_registry.py.
def test_a_client_at_the_mean_is_in_no_group():
    b = np.array([0.25, 0.5, 0.75])
    assert baseline.suffering(b).tolist() == [True, False, False]
    assert baseline.well(b).tolist() == [False, False, True]


def test_equal_clients_form_no_groups_whatever_the_last_bits_of_their_mean():
    b = np.full(7, 0.1)
    assert baseline.improved_suffering(b + 0.1, b) == 0
    assert baseline.degraded_well(b - 0.1, b) == 0
    assert np.isnan(baseline.improved_suffering_gain(b, b)) and np.isnan(baseline.degraded_well_gain(b, b))


def test_a_smaller_coefficient_of_variation_is_an_improvement():
    """FedEBA+ table 18, CIFAR-10: 0.1309 beside FedAvg's 0.1503 is 13 % better."""
    a, b = np.array([1 - 0.130809249, 1 + 0.130809249]), np.array([1 - 0.150312741, 1 + 0.150312741])
    assert baseline.cv_improvement(a, b) == pytest.approx(12.975, abs=1e-3)
    assert baseline.cv_improvement(b, b) == 0
    assert np.isnan(baseline.cv_improvement(a, np.ones(2))), "nothing is smaller than no variation"


# -- Assignments to models beside the true clusters.
LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


def test_a_client_belongs_to_the_model_of_its_largest_share():
    assert assigned([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]).tolist() == [1, 0, 0]


@settings(max_examples=50, deadline=None)
@given(LABELS)
def test_index_agrees_with_scikit_learn(pairs):
    found, true = np.array(pairs).T
    assert adjusted_rand(found, true) == pytest.approx(adjusted_rand_score(true, found), abs=1e-12)
    assert adjusted_rand(found, true) == adjusted_rand((found + 1) % 4, true)


def test_a_client_that_diverged_is_in_no_cluster():
    own = assigned([[0.2, 0.8], [np.nan, np.nan]])
    assert own[0] == 1 and np.isnan(own[1]) and np.isnan(adjusted_rand(own, [0, 1]))


# -- Mean accuracies along training: when a target is reached, the area under the curve.
CURVE = pd.Series({0: 0.1, 10: 0.5, 20: 0.7, 30: 0.6})


@pytest.mark.parametrize(
    ("target", "rounds"), [(0.05, 0), (0.1, 0), (0.11, 10), (0.5, 10), (0.7, 20), (0.65, 20), (0.71, np.inf)]
)
def test_the_first_evaluated_round_that_reaches_the_target(target, rounds):
    assert rounds_to_accuracy(CURVE, target) == rounds


def test_the_last_bits_of_a_mean_do_not_decide():
    mean = float(np.mean([0.6, 0.7, 0.8]))
    assert mean < 0.7 and rounds_to_accuracy(pd.Series({3: mean}), 0.7) == 3


def test_what_diverged_reaches_nothing_more():
    curve = pd.Series({0: 0.1, 1: 0.6, 2: np.nan, 3: np.nan})
    assert rounds_to_accuracy(curve, 0.6) == 1 and rounds_to_accuracy(curve, 0.7) == np.inf
    assert np.isnan(accuracy_area(curve))


def test_the_area_is_the_mean_over_the_evaluated_rounds_without_the_untrained_model():
    assert accuracy_area(CURVE) == pytest.approx(0.6)
    assert np.isnan(accuracy_area(CURVE[:1]))
