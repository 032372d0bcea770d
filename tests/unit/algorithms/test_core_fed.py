"""CoreFed: the hand-computed weights, the M of the first round."""

import torch

from tests.unit.algorithms.toy import F, close, reports, start, vector, weights

EXAMPLE = vector(0.4, 1.0, 1.6)


def test_example():
    w = weights("core_fed", EXAMPLE, vector(1, 1, 1), M=2.0)
    close(w, [0.151515, 0.242424, 0.606061])
    close(weights("core_fed", EXAMPLE, vector(5, 3, 2), M=2.0, weighting="size"), [0.280899, 0.269663, 0.449438])


def test_a_larger_first_loss_raises_the_bound_for_good():
    algorithm, state = start("core_fed", M=2.0)
    first, state = algorithm.aggregate(state, reports(losses=5 * F))
    close(state["M"], 12.0)
    close(first.weights, (1 / (12 - 5 * F)) / (1 / (12 - 5 * F)).sum(), 1e-12)
    assert torch.equal(algorithm.aggregate(state, reports(losses=50 * F))[1]["M"], state["M"])


def test_the_smallest_utility():
    algorithm, state = start("core_fed", M=2.0, epsilon=0.5)
    _, state = algorithm.aggregate(state, reports(losses=vector(0.1, 0.1, 0.1)))
    close(algorithm.aggregate(state, reports(losses=vector(1.0, 1.5, 99.0)))[0].weights, [0.2, 0.4, 0.4])
