"""Models that are more than their layers' weights: both backends against plain autograd on the model as written."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, parametrize, spectral_norm, weight_norm

from fairfl import models
from fairfl.algorithms.interface import Plan
from fairfl.runtime.errors import OptionError
from tests.unit.simulation.federations import close, image_clients, simulation, work_of

COUNTS, SHAPE, ROUNDS, RATE = (4, 6, 9), (1, 4, 4), 3, 0.1


class Counting(nn.Module):
    """Scales by a buffer that each pass in training puts another tensor in place of."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(2))
        self.register_buffer("mask", torch.tensor([0.0, -torch.inf]))  # a constant, of which there is no mean

    def forward(self, x):
        if self.training:
            self.scale = self.scale * 0.9
        return x * self.scale[0] + self.mask[0]


class Doubled(nn.Module):
    def forward(self, weight):
        return 2 * weight


def chain(change=lambda *layers: layers, images=False):
    """Layers of a dense model, or of one of convolutions, some of them changed."""
    first = nn.Conv2d(1, 2, 3, padding=1) if images else nn.Linear(16, 5)
    last = nn.Linear(32, 3) if images else nn.Linear(5, 3)
    first, last = change(first, last)
    middle = [nn.ReLU(), nn.Flatten()] if images else [nn.ReLU()]
    return nn.Sequential(*([] if images else [nn.Flatten()]), first, *middle, last)


def frozen(first, last):
    return first.requires_grad_(False), last


def hooked(first, last):
    last.register_forward_hook(lambda layer, inputs, output: output * 2)
    return first, last


def rebound(first, last):
    last.forward = lambda x: F.linear(x, last.weight)
    return first, last


def watched(first, last):
    first.bias.register_hook(lambda gradient: gradient * 0.5)
    return first, last


def doubled(first, last):
    parametrize.register_parametrization(first, "weight", Doubled())
    return first, last


pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # weight_norm is to go

CHANGES = {
    "frozen": frozen,
    "hook": hooked,
    "own forward": rebound,
    "hook of a parameter": watched,
    "parametrised": doubled,
    "weight_norm": lambda first, last: (weight_norm(first), last),
    "spectral_norm": lambda first, last: (spectral_norm(first), last),
    "parametrised spectral norm": lambda first, last: (first, parametrizations.spectral_norm(last)),
}
BUILDERS = {
    f"{name}, {kind}": partial(chain, change, kind == "images")
    for name, change in CHANGES.items()
    for kind in ("dense", "images")
}


def tied():
    same = nn.Linear(5, 5)
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 5), nn.ReLU(), same, nn.ReLU(), same, nn.ReLU(), nn.Linear(5, 3))


def buffered():
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 5), nn.ReLU(), Counting(), nn.Linear(5, 3))


BUILDERS |= {"tied": tied, "buffers": buffered}


def state(model):
    return [*model.parameters(), *(b for b in model.buffers() if b.is_floating_point() and b.isfinite().all())]


def copied(build, model):
    """deepcopy cannot copy weights that a hook computes."""
    other = build().double()
    for value, of in zip(state(other), state(model), strict=True):
        value.data.copy_(of)
    return other


def fedavg_by_autograd(build, model):
    """The global model after some rounds in which all clients take full-batch steps."""
    part = image_clients(COUNTS, SHAPE).parts["train"]
    for _ in range(ROUNDS):
        trained = []
        for client in range(len(COUNTS)):
            own, (inputs, labels) = copied(build, model).train(), part.of(client)
            loss, moving = F.cross_entropy(own(inputs), labels), [p for p in own.parameters() if p.requires_grad]
            gradients = torch.autograd.grad(loss, moving, materialize_grads=True)
            for parameter, gradient in zip(moving, gradients, strict=True):
                parameter.data -= RATE * gradient
            trained.append(state(own))
        for value, *of_clients in zip(state(model), *trained, strict=True):
            value.data.copy_(sum(n * of.detach() for n, of in zip(COUNTS, of_clients, strict=True)) / sum(COUNTS))
    return model


def playing(monkeypatch, build, backend="auto", **changes):
    monkeypatch.setattr(models, "build", lambda *_: build())
    return simulation(counts=COUNTS, shape=SHAPE, rounds=ROUNDS, local_epochs=1, backend=backend, **changes)


@pytest.mark.parametrize("backend", ["auto", "sequential"])
@pytest.mark.parametrize("name", BUILDERS)
def test_a_model_is_trained_as_it_is_written(monkeypatch, name, backend):
    run = playing(monkeypatch, BUILDERS[name], backend)
    start = copied(BUILDERS[name], run.backend.model)
    run.run()
    expected = fedavg_by_autograd(BUILDERS[name], start).eval()
    inputs = run.train_part.inputs
    close(run.backend.forward(run.x, inputs), expected(inputs).detach())


class Late(nn.Module):
    """Changes a buffer only after some passes."""

    def __init__(self, of):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("late", torch.zeros(1))
        self.of = of

    def forward(self, x):
        if self.of == "calls":
            self.calls += 1
        elif (x[0, 0] != x[-1, 0]) and self.training:
            self.late += 1
        return x


@pytest.mark.parametrize(
    "layer", [partial(Late, "calls"), partial(Late, "late"), lambda: nn.BatchNorm1d(16, momentum=None)]
)
def test_what_a_checkpoint_cannot_have_is_refused_by_name(monkeypatch, layer):
    run = playing(monkeypatch, lambda: nn.Sequential(nn.Flatten(), layer(), nn.Linear(16, 3)))
    with pytest.raises(OptionError, match=r"the buffer 1\.(calls|late|num_batches_tracked), which is not averaged"):
        run.run_round()


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "fedprox", "hyperparameters": {"mu": 0.5}, "weight_decay": 0.1},
        {"optimizer": "adamw", "weight_decay": 0.1},
        {"modifiers": {"dp": {"target": "update", "sigma": 1.0, "clip": 1.0}}},
        {"modifiers": {"dp": {"target": "gradient", "sigma": 1.0, "clip": 1.0, "per_sample": True}}},
    ],
)
def test_frozen_parameters_stay_whatever_else_moves(monkeypatch, changes):
    run = playing(monkeypatch, BUILDERS["frozen, dense"], batch_size=3, **changes)
    start = run.x.clone()
    delta = run.backend.train(work_of(run, [0, 1, 2], Plan()), run.local, 0).delta
    assert (delta[:, : 16 * 5 + 5] == 0).all(), "nor do clients move them, to see other outputs"
    run.run()
    assert torch.equal(run.x[: 16 * 5 + 5], start[: 16 * 5 + 5])
    assert (run.x[16 * 5 + 5 :] != start[16 * 5 + 5 :]).all()
