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


def test_the_moving_average_steps_as_its_source_does():
    """litian96/TERM with two clients of equal losses and updates of 1: steps of 1, 0.67, 0.57 in the first rounds."""
    algorithm, state = start("term", samples=vector(1.0, 1.0), mode="moving")
    for expected in (1, 2 / 3, 4 / 7):
        result, state = algorithm.aggregate(state, reports(ids=(0, 1), losses=vector(1.0, 1.0, 1.0)))
        close(result.weights.sum(), expected, 1e-12)


def test_huge_tilts_do_not_overflow():
    algorithm, state = start("term", alpha=-2000.0, mode="moving")
    close(algorithm.aggregate(state, reports())[0].weights, [2 / 3, 0.0, 0.0])
    close(weights("term", vector(2.0, 2.0, 0.5), SAMPLES, alpha=1e5), [1 / 3, 2 / 3, 0.0])  # ties share by size
