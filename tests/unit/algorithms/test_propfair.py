"""PropFair: slopes by hand and by autograd, the threshold."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.algorithms.propfair import Config, slope
from tests.unit.algorithms.toy import F, X, close, received, reports, start, vector


@pytest.mark.parametrize(
    ("huber", "slopes", "x"),
    [(False, [0.666667, 1.0, 0.5], [0.966667, -2.125000]), (True, [0.666667, 1.0, 5.0], [0.516667, -1.900000])],
)
def test_example(huber, slopes, x):
    """One full-batch step on the toy: clients descend phi, so their updates are scaled by its slope."""
    close(slope(F, Config(M=2, huber=huber)), slopes)
    algorithm, state = start("propfair", M=2, huber=huber)
    plan = algorithm.configure_clients(state, received(reports()))
    report = reports(scale=plan.slope(F))
    close(X - algorithm.aggregate(state, report)[0].weights @ report.delta, x)


@settings(max_examples=40)
@given(st.floats(0, 8), st.floats(0.1, 5), st.floats(0.05, 1), st.booleans())
def test_slope_is_the_derivative_of_phi(loss, M, epsilon, huber):
    loss = torch.tensor(loss, dtype=torch.float64, requires_grad=True)
    phi = -torch.log(1 - loss / M) if M - loss >= epsilon else loss / (epsilon if huber else M)
    (expected,) = torch.autograd.grad(phi, loss)
    close(slope(loss.detach(), Config(M=M, epsilon=epsilon, huber=huber)), expected, 1e-9)


def test_the_threshold_itself_belongs_to_the_logarithm():
    close(slope(vector(1.5, 1.5 + 1e-9), Config(M=2, epsilon=0.5)), [2.0, 0.5])
