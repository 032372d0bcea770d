"""Memory outside of the state and arguments changed in place: found by hook and name, wherever the memory is."""

import sys

import pytest
import torch

from fairfl.runtime.errors import PluginError
from fairfl.simulation import toy_run
from tests.unit.registered import FEDERATING, required
from tests.unit.simulation.federations import spec_of

TEXT = """import functools, itertools, os, random, time
from dataclasses import replace
import numpy as np
import torch
from fairfl.algorithms.interface import Aggregate, Algorithm, EvaluationModels, Plan
from fairfl.experiments.base import Strict
{module}

class Config(Strict):
    pass


class Mine(Algorithm[Config]):
    seen = []

    def init_state(self, federation):
        {init}
        return {{"mean": federation.x.clone()}}

    def configure_clients(self, state, received):
        {configure}
        return Plan()

    def aggregate(self, state, reports, more=[]):
        w = reports.shares()
        {body}
        return Aggregate(weights=w), {{"mean": state["mean"] + reports.delta.mean(0)}}
"""
WEIGHTS, FORCE = (
    "line 24: Mine.aggregate: the answer.0.weights would be another",
    "line 21: Mine.configure_clients.<locals>.<lambda>: the answer would be",
)


def algorithm(tmp_path, monkeypatch, module="", init="pass", configure="pass", body="pass"):
    """The algorithm with these lines, found by name like any other."""
    (tmp_path / "mine.py").write_text(TEXT.format(module=module, init=init, configure=configure, body=body))
    package = sys.modules["fairfl.algorithms"]
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setattr("fairfl.experiments.plugins.names", lambda kind: ("mine", "mlp", "logistic_regression"))
    monkeypatch.delitem(sys.modules, "fairfl.algorithms.mine", raising=False)
    return spec_of(algorithm="mine", hyperparameters={}, clients_per_round=2)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ({"module": "SEEN = []", "body": "SEEN.append(1); w = w * len(SEEN)"}, WEIGHTS),
        ({"body": "more.append(1); w = w * len(more)"}, WEIGHTS),
        ({"module": "TICK = itertools.count(1).__next__", "body": "w = w * TICK()"}, WEIGHTS),
        (
            {"module": "DRAW = np.random.default_rng()", "init": "return {'mean': federation.x * DRAW.random()}"},
            "line 16: Mine.init_state: the answer.mean would be another",
        ),
        ({"body": "w = w + (time.time_ns() % 10**9) * 1e-9"}, WEIGHTS),
        ({"module": "N = []", "configure": "N.append(1); return Plan(force=lambda Y, places: Y * len(N))"}, FORCE),
        ({"body": "reports.delta.mul_(0.5)"}, "line 24: Mine.aggregate: changes reports.delta in place"),
        ({"body": "state['mean'].add_(1) if reports.round == 2 else 0"}, "changes state.mean in place"),
        ({"configure": "return Plan(force=lambda Y, places: Y.mul_(0.9))"}, "<lambda>: changes Y in place"),
    ],
)
def test_what_is_not_in_the_state_is_refused(tmp_path, monkeypatch, lines, words):
    spec = algorithm(tmp_path, monkeypatch, **lines)
    with pytest.raises(PluginError) as error:
        toy_run.check(spec, 5, None)
    assert words in str(error.value), error.value


@pytest.mark.parametrize(
    "lines",
    [
        {"body": "w = w * torch.rand(()) * random.random() * np.random.rand()"},  # these are in the checkpoint
        {"body": "self.ones = torch.ones_like(w); w = w * self.ones"},
        {"body": "print('x'); w = w * state['mean'].mean()"},
    ],
)
def test_what_does_no_harm_passes(tmp_path, monkeypatch, capfd, lines):
    toy_run.check(algorithm(tmp_path, monkeypatch, **lines), 5, None)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("name", FEDERATING)
def test_every_algorithm_passes(name):
    spec = spec_of(algorithm=name, hyperparameters=required(name), clients_per_round=2)
    toy_run.check(spec, 5, torch.full((5, 2), 0.5, dtype=torch.float64))


def test_it_is_played_once_for_each_content(tmp_path, monkeypatch):
    played = []
    monkeypatch.setattr(toy_run, "check", lambda *arguments: played.append(arguments))
    choices = [("fedavg", {"weighting": weighting}) for weighting in ("size", "uniform")]
    for name, given in [("qffl", {"q": 1.0}), ("qffl", {"q": 2.0}), *choices]:
        toy_run.check_once(tmp_path, spec_of(algorithm=name, hyperparameters=given), 5, None)
    for sigma in (2.0, 5.0):
        toy_run.check_once(tmp_path, spec_of(modifiers={"dp": {"sigma": sigma}}), 5, None)
    assert [spec.algorithm for spec, *_ in played] == ["qffl", "fedavg", "fedavg", "fedavg"]
