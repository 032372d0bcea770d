"""What every modifier promises. A new file in fairfl/modifiers is tested here by itself."""

import importlib

import pytest
import torch

from fairfl import modifiers
from fairfl.algorithms.interface import Aggregate
from fairfl.experiments.declaration import declaration
from fairfl.experiments.plugins import names
from tests.unit.algorithms.toy import close, vector
from tests.unit.modifiers.updates import federation, reports
from tests.unit.simulation.federations import simulation

STILL = {"gamma": 0.0, "sharpening": 1.0, "augmentation": "none"}
SERVERS = ["fedavg", "fedfv", "focus"]
# Values that change nothing, and others; with all clients, so that FedVARP has nothing to correct, or with some.
NEUTRAL = [
    ("dp", {"sigma": 0.0, "clip": None}, ["fedavg"]),
    ("dp", {"sigma": 0.0, "clip": None, "per_sample": True}, ["fedavg"]),
    ("dp", {"sigma": 0.0, "clip": None, "target": "update"}, ["fedavg"]),
    *(("fedvarp", {"corrected": corrected}, ["fedavg"]) for corrected in ("sum", "updates")),
    ("lsr", STILL, ["fedavg"]),
    *(("server_momentum", {"beta": 0.0, "form": form}, SERVERS) for form in ("heavy", "ema")),
]
ACTIVE = [
    *(("fedvarp", {"corrected": corrected}, ["fedavg", "fedfv", "qffl"]) for corrected in ("sum", "updates")),
    ("lsr", {}, ["fedavg"]),
    *(("server_momentum", {"beta": 0.5, "form": form}, SERVERS) for form in ("heavy", "ema")),
]


def test_every_file_has_a_place_in_the_order():
    assert tuple(sorted(modifiers.ORDER)) == names("modifiers")
    assert modifiers.ORDER == ("lsr", "dp", "fedvarp", "server_momentum")


@pytest.mark.parametrize("name", modifiers.ORDER)
def test_declarations_are_read_without_running_the_file(name):
    declared, modifier = declaration("modifiers", name), modifiers.load(name)
    module = importlib.import_module(modifier.__module__)
    assert declared.Config.model_json_schema() == module.Config.model_json_schema()
    assert declared.losses == modifier.losses
    for field in declared.Config.model_fields.values():
        assert field.description


def run(algorithm, modifiers, **changes):
    given = {"M": 2} if algorithm == "focus" else {}
    return simulation(algorithm, given, counts=(6, 5, 8), shape=(1, 8, 8), modifiers=modifiers, **changes).run().x


@pytest.mark.parametrize(("name", "given", "algorithm"), [(n, g, a) for n, g, used in NEUTRAL for a in used])
def test_neutral_values_leave_a_run_as_it_is(name, given, algorithm):
    found = run(algorithm, {name: given}, batch_size=3)
    torch.testing.assert_close(found, run(algorithm, {}, batch_size=3), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "given", "algorithm"), [(n, g, a) for n, g, used in ACTIVE for a in used])
def test_other_values_change_a_run_which_repeats(name, given, algorithm):
    found, again = (run(algorithm, {name: given}, clients_per_round=2) for _ in range(2))
    assert torch.equal(found, again)
    assert (found - run(algorithm, {}, clients_per_round=2)).abs().max() > 1e-4


def test_after_fedvarp_comes_momentum():
    """Two equal clients, one in each round: v <- beta v + corrected sum."""
    chain = [modifiers.create(name, {}) for name in modifiers.ORDER if name in ("server_momentum", "fedvarp")]
    states, w = [modifier.init_state(federation(vector(1, 1))) for modifier in chain], vector(1)
    for ids, delta in (([0], [[0.2, 0.0]]), ([1], [[0.4, -0.2]])):
        told = reports(ids, vector(*delta), samples=vector(1, 1))
        G = w @ told.delta
        for place, modifier in enumerate(chain):
            G, states[place] = modifier.modify_sum(states[place], G, Aggregate(weights=w), told)
    close(G, 0.9 * vector(0.2, 0.0) + vector(0.4, -0.2) + 0.5 * vector(0.2, 0.0))
