"""PropFair: slopes and steps computed by hand, the threshold, the engine against autograd."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.algorithms.propfair import Config, slope
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import F, X, close, received, reports, start
from tests.unit.simulation.federations import simulation


def one_step(**hyperparameters):
    """One full-batch step on the toy: clients descend phi, so their updates are scaled by its slope."""
    algorithm, state = start("propfair", **hyperparameters)
    plain = reports()
    plan = algorithm.configure_clients(state, received(plain))
    report = reports(scale=plan.slope(plain.loss_received))
    return X - algorithm.aggregate(state, report)[0].weights @ report.delta


@pytest.mark.parametrize(
    ("huber", "slopes", "x"),
    [
        (False, [0.666667, 1.0, 0.5], [0.966667, -2.125000]),
        (True, [0.666667, 1.0, 5.0], [0.516667, -1.900000]),
    ],
)
def test_example(huber, slopes, x):
    close(slope(F, Config(M=2, huber=huber)), slopes)
    close(one_step(M=2, huber=huber), x)


def phi(loss, M, epsilon, huber):
    if M - loss >= epsilon:
        return -torch.log(1 - loss / M)
    return loss / (epsilon if huber else M)


@settings(max_examples=40)
@given(st.floats(0, 8), st.floats(0.1, 5), st.floats(0.05, 1), st.booleans())
def test_slope_is_the_derivative_of_phi(loss, M, epsilon, huber):
    loss = torch.tensor(loss, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(phi(loss, M, epsilon, huber), loss)
    close(slope(loss.detach(), Config(M=M, epsilon=epsilon, huber=huber)), expected, 1e-9)


def test_the_threshold_itself_belongs_to_the_logarithm():
    close(slope(vector(1.5, 1.5 + 1e-9), Config(M=2, epsilon=0.5)), [2.0, 0.5])


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
@pytest.mark.parametrize("M", [1.1, 3.0])
def test_the_engine_descends_phi(backend, M):
    """Against a plain loop with autograd; with the smaller M the threshold lies among the losses of the run."""
    run = simulation("propfair", {"M": M}, backend)
    x = run.x.clone()
    run.run()
    beyond = []
    for _ in range(3):
        y = x.repeat(3, 1)
        for k in range(3):
            inputs, labels = run.clients.parts["train"].of(k)
            for _ in range(2):
                w = y[k].clone().requires_grad_()
                outputs = torch.nn.functional.linear(inputs.flatten(1), w[:12].view(3, 4), w[12:])
                loss = torch.nn.functional.cross_entropy(outputs, labels)
                beyond.append(bool(M - loss < 0.2))
                y[k] -= 0.1 * torch.autograd.grad(phi(loss, M, 0.2, False), w)[0]
        x = vector(4, 6, 9) @ y / 19
    assert any(beyond) is (M < 2) and not all(beyond)
    close(run.x, x, 1e-12)
