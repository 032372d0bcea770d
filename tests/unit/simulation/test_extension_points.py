"""What an algorithm may ask of the engine, on small ones that exist only here, and that only this is measured."""

import sys
from functools import partial
from types import ModuleType

import pytest
import torch

from fairfl import algorithms
from fairfl.algorithms.interface import Aggregate, Algorithm, Reports, State
from fairfl.experiments.base import Strict
from tests.unit.simulation import federations

simulation = partial(federations.simulation, rounds=6)


def register(monkeypatch, name, **members):
    """An algorithm module of this test, found by name like any other; `members` are those of its class."""
    module = ModuleType(f"fairfl.algorithms.{name}")
    members = {"aggregate": uniform, "__module__": module.__name__} | members
    module.Config, module.Toy = members.pop("Config", type("Config", (Strict,), {})), type("Toy", (Algorithm,), members)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    known = (name, "fedavg", "logistic_regression", "mlp", "cnn")
    monkeypatch.setattr("fairfl.experiments.plugins.names", lambda kind: known)
    assert algorithms.load(name) is module.Toy


def uniform(self, state: State, reports: Reports):
    return Aggregate(torch.ones_like(reports.samples) / reports.samples.numel()), state


BOTH = pytest.mark.parametrize("backend", ["stacked", "sequential"])


def test_losses_are_measured_on_the_sampled_clients_only(monkeypatch):
    counted = []
    run = simulation("qffl", {"q": 1.0}, counts=[3] * 50, clients_per_round=4, batch_size=2)
    forward = run.backend.forward
    monkeypatch.setattr(run.backend, "forward", lambda x, inputs: (counted.append(len(inputs)), forward(x, inputs))[1])
    run.run_round()
    assert counted == [4 * 3]


@BOTH
def test_full_batches_give_the_received_loss_without_a_forward_pass(monkeypatch, backend):
    run = simulation("qffl", {"q": 1.0}, backend=backend)
    monkeypatch.setattr(run.backend, "forward", lambda *_: pytest.fail("a forward pass"))
    run.run_round()


def test_a_dropped_client_takes_all_its_models_with_it(monkeypatch):
    run = simulation("ditto", {"report": "personal", "lambda": 0.5})
    train = run.backend.train

    def broken(work, local, round, losses):
        trained = train(work, local, round)
        trained.delta[4, 0] = float("nan")  # the personal model of client 1
        return trained

    monkeypatch.setattr(run.backend, "train", broken)
    before = run.state["v"].clone()
    run.run_round()
    assert run.result.dropped == 1
    assert torch.equal(run.state["v"][1], before[1]) and not torch.equal(run.state["v"][0], before[0])
