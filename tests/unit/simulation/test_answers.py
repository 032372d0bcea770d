"""Hooks that answer what cannot be used: one line with file, line and hook, and no number."""

import math
from functools import partial

import pytest
import torch

from fairfl.algorithms.interface import Aggregate, EvaluationModels, Plan
from fairfl.runtime.errors import PluginError
from tests.unit.simulation.federations import simulation
from tests.unit.simulation.test_extension_points import register


def hook(name, answer):
    """A hook of that name with that answer, a function of what it is given."""
    return {name: lambda self, *given: answer(*given)}


def answered(part):
    """The server's answer with this Aggregate, a function of the reports."""
    return hook("aggregate", lambda state, reports: (part(reports), state))


def weighted(weights):
    return answered(lambda reports: Aggregate(weights=weights(reports)))


def deployed(*answer):
    return hook("evaluation_models", lambda state, x: EvaluationModels(*(part(x) for part in answer)))


def planned(**fields):
    return hook("configure_clients", lambda state, received: Plan(**fields))


def keep(Y, places, z):
    return Y * z.add_(1.0)


def changed(change):
    """An algorithm with state n that does this when it aggregates."""
    both = hook("aggregate", lambda state, reports: (change(state, reports), (Aggregate(reports.shares()), state))[1])
    return both | hook("init_state", lambda federation: {"n": torch.zeros(1)})


ANSWERS = [
    (weighted(lambda reports: torch.ones(2)), "weights has shape [2], expected [3] ([m])"),
    (weighted(lambda reports: torch.tensor([1, math.nan, 1])), "weights is not finite: [1.0, nan, 1.0]"),
    (hook("aggregate", lambda state, reports: None), "the answer: None: input should be a valid tuple"),
    (hook("aggregate", lambda state, reports: (None, state)), "the answer.0: None: input should be an instance of A"),
    (hook("aggregate", lambda state, reports: (Aggregate(), {"a": 1})), "the answer.1.a: 1: input should be an ins"),
    (answered(lambda reports: Aggregate(extra=torch.ones(1))), "extra has shape [1], expected"),
    (weighted(lambda reports: torch.ones(3).half()), "weights is torch.float16, expected torch.float64 or torch.float"),
    (hook("select", lambda state, selection: torch.tensor([0.0, 1.0])), "the answer is torch.float32, expected ids"),
    (hook("configure_clients", lambda state, received: None), "the answer: None: input should be an instance of Plan"),
    (planned(lr_scale=torch.ones(2)), "lr_scale has shape [2], expected [3] ([m])"),
    (planned(direction=torch.ones(2, 15)), "direction has shape [2, 15], expected [15] ([P]) or [3, 15] ([m, P])"),
    (hook("select", lambda state, selection: torch.tensor([1, 1])), "the answer is [1, 1], expected some of"),
    (hook("select", lambda state, selection: selection.losses(torch.tensor([7]))), "<lambda>: IndexError"),
    (planned(prox="1"), "Plan: prox.float: '1': expected a number"),
    (planned(start=torch.ones(15)), "start has shape [15], expected [3, 15] ([m, P + B])"),
    (planned(epochs=1.5), "Plan: epochs: 1.5: expected a whole number"),
    (planned(force=lambda Y, places: (Y - Y.mean(0)) * 0.5), "force: its answer for a row hangs on other rows"),
    (planned(force=lambda Y, places: Y * torch.arange(len(Y)).view(-1, 1)), "force: its answer for a row hangs on"),
    (planned(force=partial(keep, z=torch.zeros(1))), "force: its answer for a row hangs on other rows, or on earlier"),
    (planned(force=lambda Y, places: Y.mul_(0.9)), "force: changes what it is given in place"),
    (planned(slope=lambda losses: losses / losses.sum()), "slope: its answer for a row hangs on other rows"),
    (changed(lambda state, reports: reports.delta.mul_(0.5)), "changes 1.delta in place"),
    (changed(lambda state, reports: reports.x.numpy().fill(0.0)), "changes 1.x in place"),
    (changed(lambda state, reports: state["n"].add_(1.0)), "changes 0.n in place"),
    (hook("init_state", lambda federation: federation.samples.fill_(1.0)), "changes 0.samples in place"),
    (hook("select", lambda state, selection: selection.order.copy_(selection.order.flip(0))), "changes 1.order"),
    (deployed(lambda x: x.zero_()), "changes 1 in place"),
    (planned(slope=lambda losses: losses[7]), "<lambda>: IndexError: index 7 is out of bounds"),
    (hook("init_state", lambda federation: None), "the answer: None: expected a mapping"),
    (hook("required_measurements", lambda: ("loss_recieved",)), "is not among the `measurements` of its class"),
    ({"measurements": ("los_received",)} | weighted(None), "nothing is called 'los_received'; did you mean 'loss"),
    (hook("exchanges_per_round", lambda federation: 0), "the answer: 0: expected more than 0"),
    (hook("server_models", lambda: 2.0), "the answer: 2.0: expected a whole number"),
    (hook("evaluation_models", lambda state, x: x), "input should be an instance of EvaluationModels"),
    (deployed(lambda x: x.expand(2, -1)), "models has shape [2, 15], expected"),
    (deployed(lambda x: x.expand(2, -1), lambda x: torch.ones(2, 3)), "mixture has shape [2, 3], expected [3, 2]"),
    (hook("traffic", lambda federation: 3), "the answer: 3: input should be a valid tuple"),
]


@pytest.mark.parametrize(("members", "words"), ANSWERS)
def test_an_answer_that_cannot_be_used(monkeypatch, members, words):
    register(monkeypatch, "toy", **members)
    with pytest.raises(PluginError) as error:
        simulation("toy").run()
    text = str(error.value)
    assert words in text and "\n" not in text and text.startswith(f"{__file__}, line ")


def test_weights_of_a_run_that_has_diverged_may_be_what_they_are(monkeypatch):
    """Nobody trained: what the clients measured decides, and that need not be finite."""
    register(monkeypatch, "toy", **weighted(lambda reports: torch.full((3,), math.nan)), **planned(epochs=0))
    simulation("toy").run()
