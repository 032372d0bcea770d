"""Mean accuracies along training: when a target is reached, the area under the curve."""

import numpy as np
import pandas as pd
import pytest

from fairfl.metrics.progress import accuracy_area, rounds_to_accuracy

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
