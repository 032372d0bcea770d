"""Semi-VRed: hand-computed example, the paper's two ways to write the update, limiting cases, VRed beside it."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.algorithms.reweighting import CLIENTS, columns, vector, weights
from tests.unit.algorithms.toy import ETA, SAMPLES, F, G, X, close, step

P = SAMPLES / SAMPLES.sum()
D = ETA * G


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
