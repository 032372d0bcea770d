"""Metrics of losses and gaps: worked numbers, edge cases."""

import numpy as np
import pytest

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
