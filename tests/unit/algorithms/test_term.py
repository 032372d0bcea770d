"""TERM: the moving average by hand, huge tilts."""

import torch

from tests.unit.algorithms.reweighting import weights
from tests.unit.algorithms.toy import SAMPLES, F, close, reports, start


def test_example_of_the_moving_average():
    algorithm, state = start("term", alpha=0.5, mode="moving")
    first, state = algorithm.aggregate(state, reports())
    close(3 * first.weights, [0.454440, 0.583512, 0.962049])
    close(first.weights.sum(), 2 / 3, 1e-12)
    second, state = algorithm.aggregate(state, reports())
    close(3 * second.weights, [0.302960, 0.389008, 0.641366])
    close(second.weights.sum(), 4 / 9, 1e-12)
    for _ in range(60):
        last, state = algorithm.aggregate(state, reports())
    close(3 * last.weights, (0.5 * F).softmax(0), 1e-12)  # losses stand still: a softmax of uniform clients


def test_the_moving_average_steps_as_its_source_does():
    """litian96/TERM with two clients of equal losses and updates of 1: steps of 1, 0.67, 0.57 in the first rounds."""
    algorithm, state = start("term", samples=torch.ones(2, dtype=torch.float64), mode="moving")
    report = reports(ids=(0, 1), losses=torch.ones(3, dtype=torch.float64))
    for expected in (1, 2 / 3, 4 / 7):
        result, state = algorithm.aggregate(state, report)
        close(result.weights.sum(), expected, 1e-12)


def test_the_moving_average_does_not_overflow_for_negative_tilts():
    algorithm, state = start("term", alpha=-2000.0, mode="moving")
    close(algorithm.aggregate(state, reports())[0].weights, [2 / 3, 0.0, 0.0])


def test_huge_tilt_follows_the_largest_losses_shared_by_size():
    tied = torch.tensor([2.0, 2.0, 0.5], dtype=torch.float64)
    close(weights("term", tied, SAMPLES, alpha=1e5), [1 / 3, 2 / 3, 0.0])
