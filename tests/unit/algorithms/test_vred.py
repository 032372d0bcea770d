"""VRed: hand-computed example, the paper's two ways to write the update, limiting cases."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.unit.algorithms.reweighting import CLIENTS, columns, gradient_at_zero, keeps_the_promises, weights
from tests.unit.algorithms.toy import ETA, SAMPLES, F, G, X, close, step

P = SAMPLES / SAMPLES.sum()
D = ETA * G


def test_example():
    x, w, _ = step("vred", beta=0.1)
    close(w, [0.218750, 0.487500, 0.293750])
    close(x, [0.887500, -2.087500])


def test_update_of_algorithm_1():
    beta, mean, D_mean = 0.3, P @ F, P @ D
    update = D_mean + 2 * beta * (P * (F - mean)) @ (D - D_mean)
    close(step("vred", beta=beta)[0], X - update, 1e-12)


def test_weights_of_the_lemma_for_equal_sizes():
    beta, n = 0.2, 3
    close(weights("vred", F, torch.ones_like(F), beta=beta), (1 + 2 * beta * (F - F.mean())) / n, 1e-12)


def test_beta_zero_and_equal_losses_are_fedavg():
    close(step("vred", beta=0.0)[0], step("fedavg")[0], 1e-15)
    close(weights("vred", torch.full_like(F, 1.3), SAMPLES, beta=0.7), P, 1e-15)


@pytest.mark.parametrize(("beta", "positive"), [(0.799, True), (0.801, False)])
def test_bound_of_beta_for_positive_weights(beta, positive):
    """1 / (2 (Fbar - min F)) = 0.8 here. Beyond it the negative weight stays."""
    w = step("vred", beta=beta)[1]
    assert bool((w > 0).all()) is positive
    close(w.sum(), 1.0, 1e-12)


@settings(max_examples=40)
@given(CLIENTS, st.floats(0, 2))
def test_promises(clients, beta):
    keeps_the_promises("vred", clients, beta=beta)


@settings(max_examples=40)
@given(CLIENTS, st.floats(0.1, 10))
def test_scaling_losses_is_scaling_beta(clients, c):
    losses, samples = columns(clients)
    close(weights("vred", c * losses, samples, beta=0.1), weights("vred", losses, samples, beta=0.1 * c), 1e-9)


def test_weights_are_the_gradient_of_the_objective():
    beta = 0.4

    def objective(losses):
        mean = P @ losses
        return mean + beta * P @ (losses - mean).square()

    close(step("vred", beta=beta)[1] @ G, gradient_at_zero(objective), 1e-7)


@pytest.mark.parametrize("value", [-0.1, float("nan")])
def test_impossible_beta_is_refused(value):
    with pytest.raises(ValidationError):
        step("vred", beta=value)
