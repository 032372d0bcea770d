"""q-FFL: hand-computed examples, limiting cases, guards."""

from dataclasses import replace

import pytest
import torch
from pydantic import ValidationError

from fairfl.algorithms import qffl
from tests.unit.algorithms.toy import SAMPLES, F, G, close, reports, step


@pytest.mark.parametrize(
    ("q", "weights", "x"),
    [
        (1, [0.072464, 0.144928, 0.289855], [0.884058, -1.985507]),
        (2, [0.015974, 0.063898, 0.255591], [0.900958, -1.968051]),
        (0, [1 / 3, 1 / 3, 1 / 3], [0.833333, -2.033333]),
    ],
)
def test_example(q, weights, x):
    actual, w, _ = step("qffl", q=q)
    close(w, weights)
    close(actual, x)


def test_the_lipschitz_estimate_may_be_given():
    """L = 1 / eta is the default; a smaller one takes larger steps."""
    close(step("qffl", q=1, L=10.0)[0], step("qffl", q=1)[0])
    L = 0.5
    u = L * 0.1 * G
    h = u.square().sum(1) + L * F
    close(step("qffl", q=1, L=L)[1], L * F / h.sum())


def test_sums_of_the_paper_agree_with_the_weights():
    """x - sum Delta_k / sum h_k, written as in Algorithm 2, without our rescaling."""
    L, q = 10.0, 1.0
    u = G
    h = q * F ** (q - 1) * u.square().sum(1) + L * F**q
    close(h, [9.0, 20.0, 40.0])
    delta = (F**q)[:, None] * u
    close(delta.sum(0), [8.0, -1.0])
    close(step("qffl", q=1)[0], torch.tensor([1.0, -2.0], dtype=torch.float64) - delta.sum(0) / h.sum())


def test_q_zero_is_uniform_fedavg():
    close(step("qffl", q=0)[0], step("fedavg", weighting="uniform")[0], 1e-15)


def test_equal_losses_shorten_the_step_of_fedavg():
    same = torch.full_like(F, 2.0)
    gradients = torch.tensor([[3.0, 0.0], [0.0, 3.0], [-3.0, 0.0]], dtype=torch.float64)
    report = reports(losses=same, gradients=gradients)
    q, L = 3.0, 10.0
    shorter = 1 / (1 + q * 9.0 / (L * 2.0))
    close(step("qffl", report, q=q)[1], torch.full((3,), shorter / 3, dtype=torch.float64))


def test_large_q_follows_the_largest_loss_with_vanishing_steps():
    w = step("qffl", q=200)[1]
    assert w[2] > 1e6 * w[:2].max()
    assert w[2] < 0.1
    assert torch.isfinite(step("qffl", q=5000)[1]).all()


def test_zero_updates_leave_the_model():
    close(step("qffl", reports(gradients=torch.zeros_like(G)), q=2)[0], [1.0, -2.0])


def test_zero_loss_with_small_q_is_finite():
    losses = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    assert torch.isfinite(step("qffl", reports(losses=losses), q=0.1)[1]).all()


def test_weights_sum_to_at_most_one():
    for q in (0.1, 1, 5):
        assert step("qffl", q=q)[1].sum() < 1


def test_negative_q_is_refused():
    with pytest.raises(ValidationError):
        step("qffl", q=-1)


AFTER = torch.tensor([0.4, 0.1, 1.5], dtype=torch.float64)


def test_the_loss_after_training_takes_the_place_of_the_received_one():
    report = reports()
    after = replace(report, loss_received=None, loss_after=AFTER)
    close(step("qffl", after, q=2, loss="after")[1], step("qffl", reports(losses=AFTER), q=2)[1], 1e-15)
    both = replace(report, loss_after=AFTER)
    close(step("qffl", both, q=2)[1], step("qffl", q=2)[1], 0)


@pytest.mark.parametrize(("loss", "needed"), [("received", "loss_received"), ("after", "loss_after")])
def test_only_the_loss_in_use_is_measured(loss, needed):
    assert qffl.QFFL(qffl.Config(loss=loss)).required_measurements() == (needed,)


def test_size_weights_enter_both_sums():
    L, q, p = 10.0, 2.0, SAMPLES / SAMPLES.sum()
    h = q * F ** (q - 1) * G.square().sum(1) + L * F**q
    delta = (p * F**q)[:, None] * G
    x = torch.tensor([1.0, -2.0], dtype=torch.float64) - delta.sum(0) / (p * h).sum()
    close(step("qffl", q=2, weights="size")[0], x)


def test_q_zero_with_size_weights_is_fedavg_by_size():
    close(step("qffl", q=0, weights="size")[0], step("fedavg", weighting="size")[0], 1e-15)


@pytest.mark.parametrize("bad", [{"loss": "before"}, {"weights": "uniform"}, {"epsilon": 0.0}])
def test_unknown_options_are_refused(bad):
    with pytest.raises(ValidationError):
        qffl.Config(**bad)
