"""Clipping and noise: hand-computed vectors, limits, what is private, per-sample gradients, accounting."""

import math
import sys
from functools import partial
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fairfl import models
from fairfl.modifiers import dp
from fairfl.modifiers.interface import Schedule
from fairfl.simulation.flat_parameters import bind, flatten
from fairfl.simulation.losses import LOSSES
from fairfl.simulation.seeds import generator
from tests.unit.algorithms.toy import SAMPLES, close, vector
from tests.unit.modifiers.updates import D, reports
from tests.unit.simulation.federations import simulation


def config(sigma=0.0, **given):
    return dp.Config(sigma=sigma, **given)


# -- clipping and noise ---------------------------------------------------------------------------
def test_example():
    normals = torch.randn(2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    for sigma, deviation in ((0.0, 0.0), (2.0, 0.04)):
        mechanism = dp.DP(config(sigma)).resolve((), None).privacy()
        (found,) = mechanism.private([vector(3.0, 4.0)], 50, torch.Generator().manual_seed(3))
        close(found, vector(0.6, 0.8) + deviation * normals, 1e-12)


@pytest.mark.parametrize(
    ("given", "batch_size", "expected"),
    [
        ({}, 64, 2 / 64),
        ({}, None, 2 / 30),  # full batches: n_k
        ({"batch": 10}, 64, 0.2),
        ({"per_sample": True}, 64, 2 / 30),  # the samples in the batch
    ],
)
def test_the_b_of_the_noise(given, batch_size, expected):
    resolved = dp.DP(config(2.0, **given)).resolve((), batch_size).config
    close(dp.deviation(30, resolved), expected, 1e-12)


# -- what is private ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("target", "needs", "expected"),
    [
        ("auto", (), "gradient"),
        ("auto", ("loss_after", "gradient_batch"), "auxiliary"),
        ("gradient", ("gradient_batch",), "gradient"),
        ("update", ("gradient_batch",), "update"),
    ],
)
def test_targets(target, needs, expected):
    found = config(2.0, target=target)
    assert dp.DP(found).resolve(needs, 50).config.target == expected
    assert (dp.DP(found).resolve(needs, None).privacy() is not None) == (expected == "gradient")


def test_vectors_that_clients_send_are_clipped_one_by_one():
    told = reports([0, 1, 2], 10 * D, gradient=30 * D)
    shorter = dp.DP(config(target="update")).modify_reports({}, told)
    close(shorter.delta, 10 * D / (10 * D).norm(dim=1, keepdim=True).clamp(min=1), 1e-12)
    assert shorter.gradient is told.gradient
    heard = dp.DP(config(target="auxiliary")).modify_received(told)
    close(heard.gradient, 30 * D / (30 * D).norm(dim=1, keepdim=True).clamp(min=1), 1e-12)
    assert heard.delta is told.delta


def test_the_update_of_a_local_epoch_is_clipped_and_noised_as_the_gradient_it_stands_for():
    """(x - x_k) / (rate J_k), of the first exchange alone; updates stay as they are."""
    resolved = dp.DP(config(2.0, target="auxiliary")).resolve(("gradient_local_epoch",), None)
    given = {"steps": torch.tensor([2, 4, 5]), "generator": partial(generator, 7)}
    told = reports([0, 1, 2], 10 * D, **given)
    stands_for = 10 * D / (0.1 * vector(2.0, 4.0, 5.0))[:, None]
    heard = resolved.modify_reports({}, told)
    close(heard.gradient, dp.noisy(stands_for, told, resolved.config), 1e-12)
    assert heard.delta is told.delta
    again = reports([0, 1, 2], 10 * D, exchange=1, **given)
    assert resolved.modify_reports({}, again) is again


def noise_of(ids, samples=SAMPLES, seed=7, **given):
    zeros = torch.zeros(len(ids), 2000, dtype=torch.float64)
    told = reports(ids, zeros, samples=samples, generator=partial(generator, seed))
    return dp.DP(config(3.0, target="update", **given)).modify_reports({}, told).delta


def test_noise_belongs_to_round_and_client_and_not_to_the_order():
    alone, together = noise_of([2]), noise_of([2, 0, 1])
    assert torch.equal(alone[0], together[0]) and torch.equal(noise_of([0, 1, 2])[2], alone[0])
    assert not torch.equal(together[0], together[1]) and not torch.equal(noise_of([2], seed=8), alone)
    assert torch.equal(noise_of([1], batch=100), 2 * noise_of([1]))  # n_1 is 200, a full batch


# -- per-sample gradients -------------------------------------------------------------------------
MODELS = {
    "mlp": ({"name": "mlp", "hidden": [5]}, (1, 6, 6)),
    "cnn": ({"name": "cnn", "channels": [3, 4], "hidden": 5}, (1, 16, 16)),
    "groups": ({"name": "resnet", "widths": [4], "blocks": [1]}, (1, 8, 8)),
}


def by_loop(model, x, y, clip):
    """DP-SGD without noise, sample by sample."""
    total = [torch.zeros_like(p) for p in model.parameters()]
    for k in range(len(y)):
        alone = torch.autograd.grad(F.cross_entropy(model(x[k : k + 1]), y[k : k + 1]), list(model.parameters()))
        length = math.sqrt(sum(float(g.square().sum()) for g in alone))
        total = [t + min(1.0, clip / length) * g for t, g in zip(total, alone, strict=True)]
    return [t / len(y) for t in total]


@pytest.mark.parametrize(("held", "clip"), [(2**26, 0.5), (400, 2.0), (2**26, 1e9)])
@pytest.mark.parametrize("name", MODELS)
def test_each_sample_is_clipped(name, clip, held, monkeypatch):
    monkeypatch.setattr(dp, "HELD", held)  # all samples at once, or piece by piece
    torch.manual_seed(0)
    chosen, shape = MODELS[name]
    model = models.build(chosen, shape, 3).double()
    bind(model, flatten(model))  # as in the engine
    x, y = torch.randn(7, *shape, dtype=torch.float64), torch.arange(7) % 3
    mechanism = dp.DP(config(per_sample=True, clip=clip)).resolve((), None).privacy()
    with torch.no_grad():
        found = mechanism.gradients(model, LOSSES["cross_entropy"].value, x, y)
    for gradient, expected in zip(found, by_loop(model, x, y, clip), strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-9, atol=1e-12)
    # Their mean is not clipped again.
    assert all(torch.equal(a, b) for a, b in zip(mechanism.private(found, 7, torch.Generator()), found, strict=True))


def test_dropout_masks_are_drawn_for_each_sample():
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(40, 3))
    twice, labels = torch.ones(2, 40), torch.zeros(2, dtype=torch.int64)
    stacks = dp.of_each_sample(model, LOSSES["cross_entropy"].value, twice, labels)
    dropped = (stacks[0] == 0).all(1)
    assert 0 < dropped[0].sum() < 40 and not torch.equal(dropped[0], dropped[1])


# -- accounting -----------------------------------------------------------------------------------
CLAIM = {"share": 0.1, "rounds": 50, "samples": [100, 200], "batches": [10, 10], "steps": [20, 20]}


def claimed(arguments=CLAIM, **given):
    return dp.DP(config(**given)).resolve((), 10).epsilon((), Schedule(**arguments))


class Recorded:
    """An accountant that adds up noise, rate, steps and delta in a way that can be told apart."""

    def get_epsilon(self, delta):
        ((noise, rate, steps),) = self.history
        return noise + 1000 * rate + 1e6 * steps + delta


def test_what_the_accountant_is_told(monkeypatch):
    """The smaller client: each sample is in a tenth of the batches of a tenth of the rounds; 50 rounds of 20 steps."""
    monkeypatch.setitem(sys.modules, "opacus.accountants", SimpleNamespace(RDPAccountant=Recorded))
    nobody = CLAIM | {"samples": [0, 200], "batches": [1, 10], "steps": [0, 20]}
    for given, rate, delta in (
        ({}, 0.01, 1e-5),
        ({"delta": "1/N"}, 0.01, 1 / 300),
        ({"arguments": nobody}, 0.005, 1e-5),
    ):
        close(claimed(sigma=1.5, per_sample=True, **given), 1.5 + 1000 * rate + 1e6 * 1000 + delta, 1e-8)


@pytest.mark.slow
def test_epsilon_of_opacus():
    pytest.importorskip("opacus", reason="the extra `privacy` is not installed")
    one = {"share": 0.1, "rounds": 50, "samples": [100], "batches": [10], "steps": [20]}
    close(claimed(sigma=1.1, per_sample=True, arguments=one), 1.7117701, 1e-6)
    assert claimed(sigma=2.0, per_sample=True) < claimed(sigma=1.1, per_sample=True)
    # Everybody, full batches: the Gaussian mechanism, whose Renyi divergence is order T / (2 sigma^2).
    full = {"share": 1.0, "rounds": 4, "samples": [30], "batches": [30], "steps": [1]}
    orders = [1 + x / 10 for x in range(1, 100)] + list(range(12, 64))
    bounds = [a * 4 / (2 * 100) + math.log1p(-1 / a) - math.log(1e-5 * a) / (a - 1) for a in orders]
    close(claimed(sigma=10.0, per_sample=True, arguments=full), min(bounds), 1e-9)


# -- in the engine --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "same", "others"),
    [
        ({"theta": 0.0}, "auxiliary", ["gradient", None]),
        ({"theta": 0.0, "gradient": "local_epoch", "fair_weights": "after"}, "auxiliary", ["gradient", None]),
        ({"alpha": 0.0}, "gradient", [None]),
    ],
)  # fmt: skip
def test_auto_leaves_the_local_steps_of_fedeba_plus_clean(given, same, others):
    def run(target):
        changes = {"modifiers": {"dp": {"sigma": 2.0, "target": target}}} if target else {}
        return simulation("fedeba_plus", {"alpha": 0.5} | given, batch_size=3, clients_per_round=2, **changes).run().x

    auto = run("auto")
    assert torch.equal(auto, run(same)) and all((auto - run(other)).norm() > 1e-3 for other in others)
