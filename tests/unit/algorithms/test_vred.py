"""VRed and Semi-VRed: the paper's ways to write the update, the two beside each other; see test_reweighting.py too."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.algorithms.reweighting import CLIENTS, columns, vector, weights
from tests.unit.algorithms.toy import ETA, SAMPLES, F, G, X, close, step

P = SAMPLES / SAMPLES.sum()
D = ETA * G


def above_mean(name, p):
    """F_k - Fbar, of Semi-VRed where it is positive."""
    e = F - p @ F
    return e.clamp(min=0) if name == "semi_vred" else e


@pytest.mark.parametrize("name", ["vred", "semi_vred"])
def test_update_of_algorithm_1(name):
    beta, D_mean = 0.3, P @ D
    update = D_mean + 2 * beta * (P * above_mean(name, P)) @ (D - D_mean)
    close(step(name, beta=beta)[0], X - update, 1e-12)


@pytest.mark.parametrize("name", ["vred", "semi_vred"])
def test_weights_of_the_lemma_for_equal_sizes(name):
    beta, n = 0.2, 3
    e = above_mean(name, torch.full_like(F, 1 / n))
    expected = (1 + 2 * beta * e - 2 * beta / n * e.sum()) / n
    close(weights(name, F, torch.ones_like(F), beta=beta), expected, 1e-12)


def test_two_equal_clients_shift_by_half_of_vred():
    losses, n, beta = vector(0.6, 1.4), torch.ones(2).double(), 0.3
    shift = beta * 0.8
    close(weights("vred", losses, n, beta=beta), [0.5 - shift / 2, 0.5 + shift / 2], 1e-12)
    close(weights("semi_vred", losses, n, beta=beta), [0.5 - shift / 4, 0.5 + shift / 4], 1e-12)


@settings(max_examples=40)
@given(CLIENTS, st.floats(0, 2))
def test_clients_below_the_mean_share_one_relative_weight(clients, beta):
    losses, samples = columns(clients)
    p = samples / samples.sum()
    e = (losses - p @ losses).clamp(min=0)
    relative = weights("semi_vred", losses, samples, beta=beta)[e == 0] / p[e == 0]
    close(relative, torch.full_like(relative, float(1 - 2 * beta * p @ e)), 1e-9)
