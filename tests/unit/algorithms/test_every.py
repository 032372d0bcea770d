"""Properties of every algorithm that federates. A new file in fairfl/algorithms is tested here by itself.

What an algorithm does not promise by design its class says; see `by_design`.
"""

import itertools
import re
from dataclasses import replace
from math import inf

import pytest
import torch

from fairfl import algorithms
from fairfl.algorithms.interface import Algorithm
from fairfl.simulation.checkpoint import Checkpoint
from tests.unit.algorithms.toy import SAMPLES, F, G, X, close, federation, received, reports, start
from tests.unit.plain_engine import starts, stepped
from tests.unit.registered import FEDERATING, MEMBERSHIPS, required
from tests.unit.simulation.federations import simulation

# Those that build networks of their own cannot do with the two numbers of the toy.
ON_THE_TOY = [name for name in FEDERATING if algorithms.load(name).architecture is Algorithm.architecture]


def by_design(name: str) -> dict[str, str]:
    """Property -> why the algorithm does not have it, as its class says: By design not `weights_sum_to_one`: why."""
    return dict(re.findall(r"By design not `(\w+)`: (.*)", type(start(name, **required(name))[0]).__doc__ or ""))


def exchanged(algorithm, state, report, x):
    """One exchange at the models x: (what the clients report, what the algorithm answers, next state).

    All models that a client trains move as the report says; those that the server keeps have the losses that it says.
    """
    P, m = report.delta.shape[-1], len(report.clients)
    known = {name: getattr(report, name).expand(*x.shape[:-1], m) for name in ("loss_received", "accuracy_received")}
    report = replace(report, x=x, **known)
    plan = algorithm.configure_clients(state, received(report))
    begin = starts(plan, x, m)
    after = {name: getattr(report, name).expand(begin.shape[:-1]) for name in ("loss_after", "accuracy_after")}
    delta = report.delta if plan.lr_scale is None else report.delta * plan.lr_scale[:, None]
    if plan.epochs == 0:  # clients only measure; losses are linear
        delta = torch.zeros_like(delta)
        after["loss_after"] = after["loss_after"] + torch.einsum(
            "...mp,mp->...m", (begin - x)[..., :P], report.gradient
        )
    report = replace(report, **after)
    buffers = begin[..., P:] + 1 if begin.shape[-1] > P else None
    delta = delta.expand(*begin.shape[:-1], P)
    report = replace(report, start=begin, delta=delta, buffers=buffers, mix=plan.mix)
    return report, *algorithm.aggregate(state, report)


def rounds(name: str, report, count: int = 2, state=None, samples=SAMPLES, x=X):
    """(x after `count` rounds that all see the same report, last weights, state)."""
    algorithm, fresh = start(name, samples, x, **required(name))
    state = fresh if state is None else state
    models = algorithm.server_models()
    x = x if models is None else x.expand(models, -1)
    exchanges = algorithm.exchanges_per_round(federation(algorithm, samples, X))
    for t, exchange in itertools.product(range(count), range(exchanges)):
        told, result, state = exchanged(algorithm, state, replace(report, round=t, exchange=exchange), x)
        P = told.delta.shape[-1]
        x = torch.cat([stepped(x[..., :P], result, told.delta), x[..., P:]], dim=-1)
    return x, result.weights, state


@pytest.mark.parametrize("name", ON_THE_TOY)
def test_order_of_clients_does_not_matter(name):
    plain, turned = reports(ids=(0, 1, 2)), reports(ids=(2, 0, 1))
    x, w, _ = rounds(name, plain)
    y, v, _ = rounds(name, turned)
    close(x, y, 1e-12)
    if w is not None:
        close(w[..., [2, 0, 1]], v, 1e-12)


CHANGED = [
    ("fedavg", {"modifiers": {"server_momentum": {}, "fedvarp": {}}}),
    ("fedavg", {"model": {"name": "resnet", "widths": [4], "blocks": [1], "stem": "cifar", "norm": "batch"}}),
]


@pytest.mark.parametrize(("name", "given"), [*((name, {}) for name in FEDERATING), *CHANGED])
def test_a_saved_run_continues_equally(name, given, tmp_path, monkeypatch):
    monkeypatch.setattr("fairfl.simulation.checkpoint.SHARE", inf)  # saved after each round
    keys, model = required(name), {"name": "mlp", "hidden": [4]}
    if name == "ditto":
        keys = {"report": "personal"}
    changes = {"model": model, "clients_per_round": 2, "batch_size": 3, "keep": "path", "memberships": MEMBERSHIPS}
    changes |= given
    through, broken, resumed = (simulation(name, keys, **changes) for _ in range(3))
    whole, path = through.run(), tmp_path / "checkpoint.pt"
    broken.run(Checkpoint(path, "id", 0))
    found = resumed.run(Checkpoint(path, "id", inf))
    assert torch.equal(found.x, whole.x) and len(found.history) == len(whole.history)
    assert through.communication.sent == resumed.communication.sent
    assert all(torch.equal(through.state[key], resumed.state[key]) for key in through.state)
    assert all(torch.equal(a, b) for a, b in zip(found.path, whole.path, strict=True))
    for row, other in zip(found.history, whole.history, strict=True):
        assert all(torch.equal(row[key].nan_to_num(), other[key].nan_to_num()) for key in row)


def equal_clients(name):
    """Clients that report the same give FedAvg with equal weights, and one alone moves to its own model."""
    same = reports(losses=torch.ones_like(F), gradients=G[:1].repeat(3, 1))
    x = rounds(name, same, 1)[0]
    close(x, (X - 0.1 * G[0]).expand_as(x), 1e-12)
    alone = replace(reports(ids=(1,)), clients=torch.tensor([0]))
    x = rounds(name, alone, 1, samples=SAMPLES[1:2])[0]
    moved = (x != X).any(-1)
    close(x, torch.where(moved[..., None], X - 0.1 * G[1], X))
    assert moved.any()


def weights_sum_to_one(name):
    """The weights sum to 1."""
    w = rounds(name, reports())[1]
    assert w is not None, "it has no weights"
    total = w.sum(-1)
    close(total, torch.ones_like(total), 1e-12)


def constant_loss(name):
    """A constant on all losses changes nothing."""
    close(rounds(name, reports())[0], rounds(name, reports(losses=F + 3.0))[0], 1e-12)


PROPERTIES = {check.__name__: check for check in (equal_clients, weights_sum_to_one, constant_loss)}


@pytest.mark.parametrize("wanted", PROPERTIES)
@pytest.mark.parametrize("name", ON_THE_TOY)
def test_properties_that_hold_unless_the_class_says_why_not(name, wanted):
    """Nobody is let off a property that holds."""
    excused = by_design(name)
    assert excused.keys() <= PROPERTIES.keys(), f"{name}: no such property, only {', '.join(PROPERTIES)}"
    try:
        PROPERTIES[wanted](name)
    except AssertionError:
        told = f"If that is how it is meant, its class says so: a line of the docstring, By design not `{wanted}`: why."
        if wanted not in excused:
            pytest.fail(f"{name}: not true: {PROPERTIES[wanted].__doc__} {told}", pytrace=False)
    else:
        assert wanted not in excused, f"{name} has the property `{wanted}`"


@pytest.mark.parametrize("name", ON_THE_TOY)
def test_buffers_do_not_change_what_parameters_do(name):
    plain, _, _ = rounds(name, reports())
    x, _, _ = rounds(name, reports(), x=torch.cat([X, torch.tensor([7.0, 8.0], dtype=torch.float64)]))
    assert torch.equal(x[..., :2], plain)
