"""Semi-VRed: hand-computed example, the paper's two ways to write the update, limiting cases, VRed beside it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.unit.algorithms.reweighting import CLIENTS, columns, gradient_at_zero, keeps_the_promises, vector, weights
from tests.unit.algorithms.toy import ETA, SAMPLES, F, G, X, close, step

P = SAMPLES / SAMPLES.sum()
D = ETA * G


def test_example():
    x, w, _ = step("semi_vred", beta=0.1)
    close(w, [0.2390625, 0.478125, 0.2828125])
    close(x, [0.886875, -2.086875])


def test_update_of_algorithm_1():
    beta, D_mean = 0.3, P @ D
    e = (F - P @ F).clamp(min=0)
    update = D_mean + 2 * beta * (P * e) @ (D - D_mean)
    close(step("semi_vred", beta=beta)[0], X - update, 1e-12)


def test_weights_of_the_lemma_for_equal_sizes():
    beta, n = 0.2, 3
    e = (F - F.mean()).clamp(min=0)
    expected = (1 + 2 * beta * e - 2 * beta / n * e.sum()) / n
    close(weights("semi_vred", F, torch.ones_like(F), beta=beta), expected, 1e-12)


def test_beta_zero_and_equal_losses_are_fedavg():
    close(step("semi_vred", beta=0.0)[0], step("fedavg")[0], 1e-15)
    close(weights("semi_vred", torch.full_like(F, 1.3), SAMPLES, beta=0.7), P, 1e-15)


@pytest.mark.parametrize(("beta", "positive"), [(2.285, True), (2.286, False)])
def test_bound_of_beta_for_positive_weights(beta, positive):
    """1 / (2 ebar) = 2.285714 here. Beyond it the negative weights stay."""
    w = step("semi_vred", beta=beta)[1]
    assert bool((w > 0).all()) is positive
    close(w.sum(), 1.0, 1e-12)


def test_two_equal_clients_shift_by_half_of_vred():
    losses, n, beta = vector(0.6, 1.4), torch.ones(2).double(), 0.3
    shift = beta * 0.8
    close(weights("vred", losses, n, beta=beta), [0.5 - shift / 2, 0.5 + shift / 2], 1e-12)
    close(weights("semi_vred", losses, n, beta=beta), [0.5 - shift / 4, 0.5 + shift / 4], 1e-12)


@settings(max_examples=40)
@given(CLIENTS, st.floats(0, 2))
def test_promises(clients, beta):
    keeps_the_promises("semi_vred", clients, beta=beta)


@settings(max_examples=40)
@given(CLIENTS, st.floats(0, 2))
def test_clients_below_the_mean_share_one_relative_weight(clients, beta):
    losses, samples = columns(clients)
    p = samples / samples.sum()
    e = (losses - p @ losses).clamp(min=0)
    relative = weights("semi_vred", losses, samples, beta=beta)[e == 0] / p[e == 0]
    close(relative, torch.full_like(relative, float(1 - 2 * beta * p @ e)), 1e-9)


@settings(max_examples=40)
@given(CLIENTS, st.floats(0.1, 10))
def test_scaling_losses_is_scaling_beta(clients, c):
    losses, samples = columns(clients)
    scaled = weights("semi_vred", c * losses, samples, beta=0.1)
    close(scaled, weights("semi_vred", losses, samples, beta=0.1 * c), 1e-9)


def test_weights_are_the_gradient_of_the_objective():
    beta = 0.4

    def objective(losses):
        mean = P @ losses
        return mean + beta * P @ (losses - mean).clamp(min=0).square()

    close(step("semi_vred", beta=beta)[1] @ G, gradient_at_zero(objective), 1e-7)


@pytest.mark.parametrize("value", [-0.1, float("nan")])
def test_impossible_beta_is_refused(value):
    with pytest.raises(ValidationError):
        step("semi_vred", beta=value)
