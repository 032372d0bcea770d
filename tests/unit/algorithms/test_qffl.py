"""q-FFL: options and guards; more of it in test_reweighting.py and tests/oracle."""

from dataclasses import replace

import torch

from tests.unit.algorithms.toy import SAMPLES, F, G, close, reports, step


def test_the_lipschitz_estimate_may_be_given():
    """L = 1 / eta is the default; a smaller one takes larger steps."""
    close(step("qffl", q=1, L=10.0)[0], step("qffl", q=1)[0])
    L = 0.5
    u = L * 0.1 * G
    h = u.square().sum(1) + L * F
    close(step("qffl", q=1, L=L)[1], L * F / h.sum())


def test_large_q_follows_the_largest_loss_with_vanishing_steps():
    w = step("qffl", q=200)[1]
    assert w[2] > 1e6 * w[:2].max()
    assert w[2] < 0.1
    assert torch.isfinite(step("qffl", q=5000)[1]).all()


def test_zero_loss_with_small_q_is_finite():
    losses = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    assert torch.isfinite(step("qffl", reports(losses=losses), q=0.1)[1]).all()


AFTER = torch.tensor([0.4, 0.1, 1.5], dtype=torch.float64)


def test_the_loss_after_training_takes_the_place_of_the_received_one():
    report = reports()
    after = replace(report, loss_received=None, loss_after=AFTER)
    close(step("qffl", after, q=2, loss="after")[1], step("qffl", reports(losses=AFTER), q=2)[1], 1e-15)
    both = replace(report, loss_after=AFTER)
    close(step("qffl", both, q=2)[1], step("qffl", q=2)[1], 0)


def test_size_weights_enter_both_sums():
    L, q, p = 10.0, 2.0, SAMPLES / SAMPLES.sum()
    h = q * F ** (q - 1) * G.square().sum(1) + L * F**q
    delta = (p * F**q)[:, None] * G
    x = torch.tensor([1.0, -2.0], dtype=torch.float64) - delta.sum(0) / (p * h).sum()
    close(step("qffl", q=2, weights="size")[0], x)
