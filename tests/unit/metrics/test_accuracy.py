"""Accuracies of the clients: worked numbers, tails, limits."""

import numpy as np
import pytest

from fairfl.metrics import accuracy
from fairfl.metrics.accuracy import accuracy_highest, accuracy_lowest, accuracy_std, angle_deg, cv, kl_uniform


def test_fedfv_prints_the_standard_deviation_over_clients_under_var():
    # FedFV table 3, FedAvg: shirt, pullover and T-shirt 64.26, 87.03, 89.97, "Var." 11.50 (mean over five seeds).
    assert accuracy_std([64.26, 87.03, 89.97]) == pytest.approx(11.5, abs=0.02)


@pytest.mark.parametrize(
    ("clients", "percent", "expected"),
    [(100, 5, 5), (50, 10, 5), (50, 20, 10), (20, 10, 2), (20, 20, 4), (200, 5, 10), (10, 5, 1), (1, 10, 1), (39, 5, 1),
     (100, 29, 29), (100, 7, 7)],
)  # fmt: skip
def test_tail_is_rounded_down_and_never_empty(clients, percent, expected):
    assert accuracy.tail(clients, percent) == expected


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_diverged_client_leaves_no_number(position):
    values = [0.1, 0.5, 0.9]
    values[position] = np.nan
    assert np.isnan([accuracy_std(values), accuracy.accuracy_worst(values)]).all()
    assert np.isnan([accuracy_lowest(values, 10), accuracy_highest(values, 10)]).all()


def test_equal_accuracies_are_even_and_zero_ones_have_no_measure():
    same = np.full(7, 0.4)
    assert [cv(same), angle_deg(same), kl_uniform(same)] == pytest.approx([0, 0, 0], abs=1e-12)
    nothing = np.zeros(3)
    assert np.isnan([cv(nothing), angle_deg(nothing), kl_uniform(nothing)]).all()
    assert kl_uniform([1.0, 0.0]) == pytest.approx(np.log(2))  # 0 ln 0 = 0
