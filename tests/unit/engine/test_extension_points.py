"""What an algorithm may ask of the engine, on small algorithms that exist only here.

Proximal terms (FedProx), several models on the server (clustered), a personal model per client (Ditto), losses after
local training. The same engine loop runs them all; none has a case of its own in it.
"""

from types import ModuleType

import pytest
import torch
from federations import image_clients, spec_of

from fairfl import algorithms
from fairfl.algorithms.interface import Aggregate, Deployed, Federation, Plan, Received, Reports, State
from fairfl.engine.rounds import Simulation
from fairfl.spec.base import Strict

CPU = torch.device("cpu")
NOTHING = {"weighting": "uniform"}


def register(monkeypatch, name, **functions):
    """An algorithm module of this test, found by name like any other."""
    module = ModuleType(f"fairfl.algorithms.{name}")
    defaults = {"NEEDS": (), "ROUNDS": True, "Config": type("Config", (Strict,), {}), "aggregate": uniform}
    module.__dict__.update(defaults | functions)
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    assert algorithms.load(name) is module


def uniform(state: State, reports: Reports, config):
    return Aggregate(torch.ones_like(reports.samples) / reports.samples.numel()), state


def simulation(algorithm, hyperparameters=None, counts=(4, 6, 9), backend="auto", **changes):
    spec = spec_of(algorithm=algorithm, hyperparameters=hyperparameters or {}, **{"local_epochs": 2} | changes)
    return Simulation(spec, image_clients(list(counts)), None, CPU, backend)


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


BOTH = pytest.mark.parametrize("backend", ["stacked", "sequential"])


# -- FedProx: y <- y - eta (grad F_k(y) + mu (y - x)) ------------------------------------------------------
def fedprox(mu):
    return lambda state, received, config: Plan(prox=mu)


@BOTH
def test_prox_of_zero_is_fedavg_and_a_strong_one_holds_clients_back(monkeypatch, backend):
    plain = simulation("fedavg", NOTHING, backend=backend).run().x
    moved = {}
    for mu in (0.0, 1.0, 9.0):
        register(monkeypatch, "toy", plan=fedprox(mu))
        run = simulation("toy", backend=backend, batch_size=2)
        start = run.x
        run.step()
        moved[mu] = (run.x - start).norm()
    assert moved[0.0] > moved[1.0] > moved[9.0]
    register(monkeypatch, "toy", plan=fedprox(0.0))
    close(simulation("toy", backend=backend).run().x, plain)


def test_prox_does_not_change_the_first_local_step(monkeypatch):
    register(monkeypatch, "toy", plan=fedprox(3.0))
    close(simulation("toy", local_epochs=1).run().x, simulation("fedavg", NOTHING, local_epochs=1).run().x)


# -- several models on the server (clustered federated learning) --------------------------------------------
def clusters(count, membership):
    """`count` models; client k belongs to model c with weight membership[k, c]."""

    def aggregate(state, reports, config):
        w = membership[reports.clients].T
        return Aggregate(w / w.sum(1, keepdim=True)), state

    return {
        "NEEDS": ("loss_received", "loss_after"),
        "models": lambda config: count,
        "aggregate": aggregate,
        "deploy": lambda state, x, config: Deployed(x, membership),
    }


@BOTH
def test_each_model_is_trained_by_its_own_clients(monkeypatch, backend):
    membership = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    register(monkeypatch, "toy", **clusters(2, membership))
    run = simulation("toy", backend=backend)
    first = run.x.clone()
    assert first.shape == (2, 15) and not torch.equal(first[0], first[1]), "models start apart"
    run.step()
    # Client 0 alone moves model 0: the same step as when it is a federation of one.
    work, _ = run.work([0], Plan(start=first[0].expand(1, 1, -1)))
    alone = run.backend.train(work, run.local, 0).delta[0]
    close(run.x[0], first[0] - alone)
    work, _ = run.work([1, 2], Plan(start=first[1].expand(1, 2, -1)))
    close(run.x[1], first[1] - run.backend.train(work, run.local, 0).delta.mean(0))


def test_losses_have_one_row_per_model(monkeypatch):
    seen = []

    def plan(state, received: Received, config):
        seen.append(received)
        return Plan()

    def aggregate(state, reports: Reports, config):
        seen.append(reports)
        return Aggregate(torch.ones(2, 3, dtype=torch.float64) / 3), state

    both = clusters(2, torch.full((3, 2), 0.5, dtype=torch.float64))
    register(monkeypatch, "toy", **both | {"plan": plan, "aggregate": aggregate})
    run = simulation("toy")
    first = run.x.clone()
    run.step()
    received, reports = seen
    assert received.loss_received.shape == (2, 3) and reports.delta.shape == (2, 3, 15)
    assert reports.loss_after.shape == (2, 3)
    assert (reports.loss_after < reports.loss_received).all(), "local training lowers the training loss"
    for c in range(2):
        run.x = first[c]
        close(run.losses("train", [0, 1, 2]), received.loss_received[c])


def test_one_cluster_is_fedavg(monkeypatch):
    everyone = torch.ones(3, 1, dtype=torch.float64)
    register(monkeypatch, "toy", **clusters(1, everyone))
    plain, one = simulation("fedavg", NOTHING).run(), simulation("toy").run()
    close(one.x, plain.x.unsqueeze(0))
    for row, other in zip(plain.history, one.history, strict=True):
        close(row["loss_test"], other["loss_test"])
        assert torch.equal(row["accuracy_test"], other["accuracy_test"])


def test_a_mixture_is_evaluated_by_mixed_probabilities(monkeypatch):
    membership = torch.tensor([[0.7, 0.3], [0.5, 0.5], [0.0, 1.0]], dtype=torch.float64)
    register(monkeypatch, "toy", **clusters(2, membership))
    run = simulation("toy")
    measured = run.evaluated("test")
    for k in range(3):
        inputs, labels = run.clients.parts["test"].of(k)
        p = sum(membership[k, c] * run.backend.forward(run.x[c], inputs).softmax(-1) for c in range(2))
        close(measured.loss[k], -p.gather(1, labels[:, None]).log().mean())
        assert measured.hits[k].sum() == (p.argmax(1) == labels).sum()


# -- a personal model per client (Ditto) --------------------------------------------------------------------
def ditto(strength):
    """v_k <- v_k - eta (grad F_k(v_k) + lambda (v_k - x)) beside plain FedAvg."""

    def init(federation: Federation, config):
        return {"v": federation.x.expand(federation.clients, -1).clone()}

    def plan(state, received: Received, config):
        own = state["v"][received.clients]
        start = torch.stack([received.x.expand_as(own), own])
        return Plan(start=start, prox=torch.tensor([0.0, strength]))

    def aggregate(state, reports: Reports, config):
        m = reports.samples.numel()
        w = torch.stack([torch.full((m,), 1 / m), torch.zeros(m)]).double()
        v = state["v"].index_add(0, reports.clients, -reports.delta[1])
        return Aggregate(w), {"v": v}

    return {
        "init": init,
        "plan": plan,
        "aggregate": aggregate,
        "deploy": lambda state, x, config: Deployed(state["v"]),
    }


@BOTH
@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_the_global_model_of_ditto_is_fedavg_for_every_lambda(monkeypatch, backend, strength):
    register(monkeypatch, "toy", **ditto(strength))
    changes = {"batch_size": 3, "clients_per_round": 2, "backend": backend}
    close(simulation("toy", **changes).run().x, simulation("fedavg", NOTHING, **changes).run().x)


@BOTH
def test_personal_models_without_pull_are_local_training(monkeypatch, backend):
    register(monkeypatch, "toy", **ditto(0.0))
    run = simulation("toy", backend=backend, rounds=3)
    alone = [run.x.clone() for _ in range(3)]
    run.run()
    for number in range(3):
        for k in range(3):
            work, _ = run.work([k], Plan(start=alone[k].expand(1, 1, -1)))
            alone[k] = alone[k] - run.backend.train(work, run.local, number).delta[0]
    close(run.state["v"], torch.stack(alone))


def test_a_client_that_is_not_sampled_keeps_its_personal_model(monkeypatch):
    register(monkeypatch, "toy", **ditto(0.5))
    run = simulation("toy", clients_per_round=1)
    (sampled,) = run.sampled()
    before = run.state["v"].clone()
    run.step()
    changed = (run.state["v"] != before).any(1)
    assert changed.tolist() == [k == sampled for k in range(3)]


def test_every_client_is_evaluated_with_its_own_model(monkeypatch):
    register(monkeypatch, "toy", **ditto(0.1))
    run = simulation("toy")
    run.step()
    measured = run.evaluated("test")
    for k in range(3):
        inputs, labels = run.clients.parts["test"].of(k)
        outputs = run.backend.forward(run.state["v"][k], inputs)
        close(measured.loss[k], torch.nn.functional.cross_entropy(outputs, labels))
        assert measured.hits[k].sum() == (outputs.argmax(1) == labels).sum()


def test_personal_state_survives_a_checkpoint(monkeypatch, tmp_path):
    from fairfl.engine.checkpoint import Checkpoint

    register(monkeypatch, "toy", **ditto(0.5))
    whole = simulation("toy", clients_per_round=2)
    whole.run()
    checkpoint = Checkpoint(tmp_path / "checkpoint.pt", "id", interval=0)
    simulation("toy", clients_per_round=2).run(checkpoint)  # leaves the state before the last round
    resumed = simulation("toy", clients_per_round=2)
    resumed.run(checkpoint)
    assert torch.equal(resumed.x, whole.x) and torch.equal(resumed.state["v"], whole.state["v"])


# -- only what is asked for --------------------------------------------------------------------------------
def test_losses_are_measured_on_the_sampled_clients_only(monkeypatch):
    counted = []
    run = simulation("qffl", {"q": 1.0}, counts=[3] * 50, clients_per_round=4, batch_size=2)
    forward = run.backend.forward
    monkeypatch.setattr(run.backend, "forward", lambda x, inputs: (counted.append(len(inputs)), forward(x, inputs))[1])
    run.step()
    assert counted == [4 * 3]


@BOTH
def test_full_batches_give_the_received_loss_without_a_forward_pass(monkeypatch, backend):
    """And the run is the same as with one."""
    run = simulation("qffl", {"q": 1.0}, backend=backend)
    slow = simulation("qffl", {"q": 1.0}, backend=backend)
    monkeypatch.setattr(slow, "first_step_tells", lambda ids: False)
    forward = run.backend.forward
    monkeypatch.setattr(run.backend, "forward", lambda *_: pytest.fail("a forward pass"))
    run.step()
    monkeypatch.setattr(run.backend, "forward", forward)
    slow.step()
    close(run.x, slow.x)
    close(run.run().x, slow.run().x)


@pytest.mark.parametrize(("changes", "expected"), [({}, True), ({"batch_size": 9}, True), ({"batch_size": 8}, False)])
def test_the_first_step_tells_the_loss_only_if_it_sees_all_samples(changes, expected):
    assert simulation("qffl", {"q": 1.0}, **changes).first_step_tells([0, 2]) is expected


def test_an_algorithm_that_plans_gets_its_losses_before_training(monkeypatch):
    seen = []

    def plan(state, received: Received, config):
        seen.append(received.loss_received)
        return Plan()

    register(monkeypatch, "toy", NEEDS=("loss_received",), plan=plan)
    simulation("toy").step()
    assert seen[0] is not None


def test_a_dropped_client_takes_all_its_models_with_it(monkeypatch):
    register(monkeypatch, "toy", **ditto(0.5))
    run = simulation("toy")
    train = run.backend.train

    def broken(work, local, round, losses):
        trained = train(work, local, round)
        trained.delta[4, 0] = float("nan")  # the personal model of client 1
        return trained

    monkeypatch.setattr(run.backend, "train", broken)
    before = run.state["v"].clone()
    run.step()
    assert run.result.dropped == 1
    assert torch.equal(run.state["v"][1], before[1]) and not torch.equal(run.state["v"][0], before[0])
