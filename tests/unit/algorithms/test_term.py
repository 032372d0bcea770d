"""TERM: the moving average by hand, huge tilts; its example is in test_examples.py."""

from tests.unit.algorithms.toy import SAMPLES, F, close, reports, start, vector, weights


def test_example_of_the_moving_average():
    algorithm, state = start("term", alpha=0.5, mode="moving")
    first, state = algorithm.aggregate(state, reports())
    close(3 * first.weights, [0.454440, 0.583512, 0.962049])
    second, state = algorithm.aggregate(state, reports())
    close(3 * second.weights, [0.302960, 0.389008, 0.641366])
    for _ in range(60):
        last, state = algorithm.aggregate(state, reports())
    close(3 * last.weights, (0.5 * F).softmax(0), 1e-12)  # losses stand still: a softmax of uniform clients


def test_huge_tilts_do_not_overflow():
    algorithm, state = start("term", alpha=-2000.0, mode="moving")
    close(algorithm.aggregate(state, reports())[0].weights, [2 / 3, 0.0, 0.0])
    close(weights("term", vector(2.0, 2.0, 0.5), SAMPLES, alpha=1e5), [1 / 3, 2 / 3, 0.0])  # ties share by size
