"""What an algorithm may ask of the engine, on small algorithms that exist only here.

Several models on the server (clustered), a model of its own per client, several exchanges in a round, momentum and
slopes of local steps, losses and accuracies before and after training. The same engine loop runs them all; none has a
case of its own in it.
"""

import dataclasses
import sys
from functools import partial
from types import ModuleType

import pytest
import torch

from fairfl import algorithms
from fairfl.algorithms.interface import (
    Aggregate,
    Algorithm,
    EvaluationModels,
    Reports,
    State,
)
from fairfl.experiments.base import Strict
from tests.unit.simulation import federations
from tests.unit.simulation.federations import close

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


# -- several models on the server (clustered federated learning) --------------------------------------------
def clusters(count, membership):
    """`count` models; client k belongs to model c with weight membership[k, c]."""

    def aggregate(self, state, reports):
        w = membership[reports.clients].T
        return Aggregate(w / w.sum(1, keepdim=True)), state

    return {
        "measurements": ("loss_received", "loss_after"),
        "server_models": lambda self: count,
        "aggregate": aggregate,
        "evaluation_models": lambda self, state, x: EvaluationModels(x, membership),
    }


# -- a personal model per client ----------------------------------------------------------------------------


PERSONAL = {"report": "personal", "lambda": 0.5}


# -- exchanges, frozen layers, another architecture -------------------------------------------------------------
MLP = {"name": "mlp", "hidden": [5]}


def test_exchanges_of_one_round_are_with_the_same_clients(monkeypatch):
    seen = []

    def aggregate(self, state, reports: Reports):
        seen.append((reports.round, reports.exchange, tuple(reports.clients.tolist()), reports.seed))
        return uniform(self, state, reports)

    register(
        monkeypatch,
        "toy",
        aggregate=aggregate,
        exchanges_per_round=lambda self, federation: len(federation.shapes) // 2,
    )
    run, drawn = simulation("toy", model=MLP, clients_per_round=2), []
    for _ in range(2):
        drawn.append(tuple(run.select_clients()))
        run.run_round()
    assert [(number, exchange) for number, exchange, _, _ in seen] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [clients for _, _, clients, _ in seen] == [drawn[0], drawn[0], drawn[1], drawn[1]]
    assert len({seed for *_, seed in seen}) == 4, "the server draws anew in each exchange"
    assert run.round == 2


# -- losses and accuracies on training data ------------------------------------------------------------------
ALL = ("loss_received", "accuracy_received", "loss_after", "accuracy_after")


def recorder(numbers, seen, **functions):
    """An algorithm that needs these numbers and keeps its reports in `seen`."""

    def aggregate(self, state, reports: Reports):
        seen.append(reports)
        weights = torch.ones(reports.delta.shape[:-1], dtype=torch.float64) / reports.samples.numel()
        return Aggregate(weights), state

    return {"measurements": numbers, "aggregate": aggregate} | functions


def measured(run, x, k):
    """Loss and accuracy of a linear model on the training samples of client k, by hand."""
    inputs, labels = run.clients.parts["train"].of(k)
    outputs = inputs.flatten(1) @ x[:12].view(3, 4).T + x[12:]
    right = sum(int(row.argmax() == label) for row, label in zip(outputs, labels, strict=True))
    return torch.nn.functional.cross_entropy(outputs, labels), torch.tensor(right / len(labels), dtype=torch.float64)


@BOTH
@pytest.mark.parametrize("ids", [[0, 1, 2], [2, 0], [1]])
@pytest.mark.parametrize("models", [None, 2])
def test_losses_and_accuracies_against_a_count_by_hand(monkeypatch, backend, ids, models):
    seen = []
    register(monkeypatch, "toy", **recorder(ALL, seen, server_models=lambda self: models))
    run = simulation("toy", backend=backend, learning_rate=2.0)
    monkeypatch.setattr(run, "select_clients", lambda: ids)
    received = run.x.view(-1, 15)
    run.run_round()
    (reports,) = seen
    numbers = {name: getattr(reports, name) for name in ALL}
    assert {tuple(value.shape) for value in numbers.values()} == {(len(ids),) if models is None else (2, len(ids))}
    assert {value.dtype for value in numbers.values()} == {torch.float64}
    changed = False
    for model, x in enumerate(received):
        delta = reports.delta.view(-1, len(ids), 15)[model]
        row = {name: value.view(-1, len(ids))[model] for name, value in numbers.items()}
        for place, k in enumerate(ids):
            for when, y in (("received", x), ("after", x - delta[place])):
                loss, accuracy = measured(run, y, k)
                close(row[f"loss_{when}"][place], loss)
                close(row[f"accuracy_{when}"][place], accuracy)
            changed |= bool(row["accuracy_after"][place] != row["accuracy_received"][place])
    assert changed, "local training changes some accuracy"


# -- only what is asked for --------------------------------------------------------------------------------
def test_losses_are_measured_on_the_sampled_clients_only(monkeypatch):
    counted = []
    run = simulation("qffl", {"q": 1.0}, counts=[3] * 50, clients_per_round=4, batch_size=2)
    forward = run.backend.forward
    monkeypatch.setattr(run.backend, "forward", lambda x, inputs: (counted.append(len(inputs)), forward(x, inputs))[1])
    run.run_round()
    assert counted == [4 * 3]


@BOTH
def test_full_batches_give_the_received_loss_without_a_forward_pass(monkeypatch, backend):
    """And the run is the same as with one."""
    run = simulation("qffl", {"q": 1.0}, backend=backend)
    slow = simulation("qffl", {"q": 1.0}, backend=backend)
    slow.measurements = dataclasses.replace(slow.measurements, plain_steps=False)
    forward = run.backend.forward
    monkeypatch.setattr(run.backend, "forward", lambda *_: pytest.fail("a forward pass"))
    run.run_round()
    monkeypatch.setattr(run.backend, "forward", forward)
    slow.run_round()
    close(run.x, slow.x)
    close(run.run().x, slow.run().x)


def test_a_dropped_client_takes_all_its_models_with_it(monkeypatch):
    run = simulation("ditto", PERSONAL)
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
