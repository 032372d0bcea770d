"""Properties of every algorithm that federates. A new file in fairfl/algorithms is tested here by itself.

`BY_DESIGN` lists, per algorithm, the properties that it does not have and why.
"""

import copy
from dataclasses import replace

import pytest
import torch
from registered import FEDERATING, REQUIRED
from toy import F, G, X, close, received, reports, start

from fairfl.algorithms.interface import Federation

BY_DESIGN = {
    "qffl": {
        "equal_clients": "q > 0 shortens the step",
        "weights_sum_to_one": "sum is below 1 for q > 0",
        "constant_loss": "powers of the loss are not shift-invariant",
    },
    "eagle": {"weights_sum_to_one": "clients scale their steps; the server's weights do sum to 1"},
    "fedfa": {
        "equal_clients": "server momentum",
        "constant_loss": "the toy's accuracies follow from its losses",
    },
    "fedfv": {"weights_sum_to_one": "projected and rescaled updates"},
    "fedmgda_plus": {
        "equal_clients": "a step has the length eta_global",
        "weights_sum_to_one": "weights are divided by the lengths of the updates",
    },
}


def needs(name: str, wanted: str) -> None:
    if wanted in BY_DESIGN.get(name, {}):
        pytest.skip(f"{name}: {BY_DESIGN[name][wanted]}")


def rounds(name: str, report, count: int = 2, state=None):
    """(x after `count` rounds that all see the same report, last weights, state)."""
    module, config, fresh = start(name, **REQUIRED.get(name, {}))
    state = fresh if state is None else state
    x = X.clone()
    for t in range(count):
        report = replace(report, x=x, round=t)
        plan = module.plan(state, received(report), config)
        delta = report.delta if plan.lr_scale is None else report.delta * plan.lr_scale[:, None]
        result, state = module.aggregate(state, replace(report, delta=delta), config)
        x = x - result.weights @ delta - (result.extra if result.extra is not None else 0)
    return x, result.weights, state


def test_a_new_algorithm_is_found():
    assert {"afl", "eagle", "fedavg", "fedfa", "fedfv", "fedmgda_plus", "qffl"} <= set(FEDERATING)


@pytest.mark.parametrize("name", FEDERATING)
def test_equal_clients_give_uniform_fedavg(name):
    needs(name, "equal_clients")
    same = reports(losses=torch.ones_like(F), gradients=G[:1].repeat(3, 1))
    close(rounds(name, same, 1)[0], X - 0.1 * G[0], 1e-12)


@pytest.mark.parametrize("name", FEDERATING)
def test_order_of_clients_does_not_matter(name):
    plain, turned = reports(ids=(0, 1, 2)), reports(ids=(2, 0, 1))
    x, w, _ = rounds(name, plain)
    y, v, _ = rounds(name, turned)
    close(x, y, 1e-12)
    close(w[[2, 0, 1]], v, 1e-12)


@pytest.mark.parametrize("name", FEDERATING)
def test_saved_state_continues_equally(name, tmp_path):
    _, _, state = rounds(name, reports(), 1)
    torch.save(state, tmp_path / "state.pt")
    loaded = torch.load(tmp_path / "state.pt", weights_only=True)
    assert torch.equal(rounds(name, reports(), 2, copy.deepcopy(state))[0], rounds(name, reports(), 2, loaded)[0])


@pytest.mark.parametrize("name", FEDERATING)
def test_weights_sum_to_one(name):
    needs(name, "weights_sum_to_one")
    close(rounds(name, reports())[1].sum(), 1.0, 1e-12)


@pytest.mark.parametrize("name", FEDERATING)
def test_a_constant_on_all_losses_changes_nothing(name):
    needs(name, "constant_loss")
    close(rounds(name, reports())[0], rounds(name, reports(losses=F + 3.0))[0], 1e-12)


@pytest.mark.parametrize("name", FEDERATING)
def test_one_client_alone_moves_to_its_own_model(name):
    needs(name, "equal_clients")
    alone = reports(ids=(1,))
    module, config, _ = start(name, **REQUIRED.get(name, {}))
    state = module.init(Federation(torch.tensor([5.0], dtype=torch.float64), X), config)
    alone = replace(alone, clients=torch.tensor([0]))
    result, _ = module.aggregate(state, alone, config)
    close(result.weights, [1.0])


@pytest.mark.parametrize("name", FEDERATING)
def test_inputs_are_left_alone(name):
    module, config, state = start(name, **REQUIRED.get(name, {}))
    report = reports()
    before = copy.deepcopy((state, report.delta, report.loss_received))
    module.plan(state, received(report), config)
    module.aggregate(state, report, config)
    assert all(torch.equal(state[key], before[0][key]) for key in state)
    assert torch.equal(report.delta, before[1])
    assert torch.equal(report.loss_received, before[2])
