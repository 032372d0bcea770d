"""A run beside a baseline: VRed table 1."""

import numpy as np
import pytest

from fairfl.metrics import baseline

A = np.array([55, 58, 72, 79]) / 100


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
