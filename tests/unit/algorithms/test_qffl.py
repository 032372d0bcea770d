"""q-FFL: options and guards; more of it in test_examples.py and tests/oracle."""

from dataclasses import replace

import torch

from tests.unit.algorithms.toy import SAMPLES, F, G, X, close, reports, step, vector


def test_the_lipschitz_estimate_may_be_given():
    """L = 1 / eta is the default; a smaller one takes larger steps."""
    close(step("qffl", q=1, L=10.0)[0], step("qffl", q=1)[0])
    h = (0.5 * 0.1 * G).square().sum(1) + 0.5 * F
    close(step("qffl", q=1, L=0.5)[1], 0.5 * F / h.sum())


def test_extreme_powers_and_losses_stay_finite():
    w = step("qffl", q=200)[1]
    assert w[2] > 1e6 * w[:2].max() and w[2] < 0.1, "it follows the largest loss with vanishing steps"
    assert torch.isfinite(step("qffl", q=5000)[1]).all()
    assert torch.isfinite(step("qffl", reports(losses=vector(0.0, 1.0, 2.0)), q=0.1)[1]).all()


def test_the_loss_after_training_takes_the_place_of_the_received_one():
    after = vector(0.4, 0.1, 1.5)
    only = replace(reports(), loss_received=None, loss_after=after)
    close(step("qffl", only, q=2, loss="after")[1], step("qffl", reports(losses=after), q=2)[1], 1e-15)
    close(step("qffl", replace(reports(), loss_after=after), q=2)[1], step("qffl", q=2)[1], 0)


def test_size_weights_enter_both_sums():
    L, q, p = 10.0, 2.0, SAMPLES / SAMPLES.sum()
    h = q * F ** (q - 1) * G.square().sum(1) + L * F**q
    delta = (p * F**q)[:, None] * G
    close(step("qffl", q=2, weights="size")[0], X - delta.sum(0) / (p * h).sum())
