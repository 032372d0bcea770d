"""FedMA: the specification's nets, lost reports, and the engine against nets of their true widths."""

import numpy as np
import pytest
import torch

from fairfl.algorithms import fedma
from fairfl.algorithms.shared import wide_mlp
from fairfl.algorithms.shared.matching import Prior, match
from fairfl.simulation.simulation import Simulation
from tests.unit.algorithms.perceptrons import (
    EXAMPLE,
    compare,
    descended,
    federation,
    flat,
    loss,
    outputs,
    random_nets,
    received,
    reports,
    unpadded,
)
from tests.unit.algorithms.toy import close
from tests.unit.simulation.federations import image_clients, spec_of


def begin(nets, labels, **hyperparameters):
    """(federation, algorithm, state) of clients with these nets."""
    algorithm = fedma.FedMA(fedma.Config(**hyperparameters))
    hidden = [len(b) for _, b in nets[0][:-1]]
    given = federation(algorithm, hidden, labels, nets[0][0][0].shape[1])
    state = algorithm.init_state(given)
    return given, algorithm, state | {"first": flat(nets, state)}


def exchange(given, algorithm, state, number, clients=None, round=0):
    """Clients report what they started from: (start, aggregate, state)."""
    known = {"exchange": number, "round": round, "seed": 3}
    start = algorithm.configure_clients(state, received(given, clients, **known)).start
    return start, *algorithm.aggregate(state, reports(given, start, clients, **known))


def matched(nets, labels, **hyperparameters):
    """(layers of the global net, state) after a round without training."""
    given, algorithm, state = begin(nets, labels, **hyperparameters)
    for number in range(algorithm.exchanges_per_round(given)):
        _, aggregate, state = exchange(given, algorithm, state, number)
        assert aggregate.weights is None
    return unpadded(aggregate.model, state["wide"].tolist()), state


# -- the round -----------------------------------------------------------------------------------------------


def test_example():
    net, state = matched(EXAMPLE, [[3], [7]], gamma=1.0, sweeps=0)
    compare(net, [([[0.633333], [-0.633333]], [0.133333, 0.066667]), ([[1.86, 1.14]], [0.08])])
    assert state["neurons_0"].tolist() == [[0, 1], [1, 0]]


def test_weights_to_the_next_layer_follow_the_neurons():
    given, algorithm, state = begin(EXAMPLE, [[3], [7]], gamma=1.0, sweeps=0)
    _, aggregate, state = exchange(given, algorithm, state, 0)
    assert aggregate.model is None, "the server's model is that of the last round until the round is over"
    above = wide_mlp.layers(state["nets"], [1, 4, 1])[1][0]
    close(above, [[[2, 1, 0, 0]], [[1.8, 1.2, 0, 0]]])


# -- clients that are absent ---------------------------------------------------------------------------------


def assert_same_function(net, other):
    inputs = torch.randn(6, net[0][0].shape[1], dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    close(outputs(net, inputs), outputs(other, inputs), 1e-9)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_client_whose_report_is_lost_is_left_out_of_the_rest_of_the_round(number):
    nets, labels = random_nets([3, 4, 5, 2], 3), [[2, 3], [1, 4], [3, 1]]
    given, algorithm, first = begin(nets, labels, gamma=1.0)
    state = first
    for c in range(3):
        lost = c == number
        _, aggregate, state = exchange(given, algorithm, state, c, clients=[0, 2] if lost else None)
    assert torch.equal(state["first"][1], first["first"][1]), "it begins the next round as it began this one"
    assert not torch.equal(state["first"][0], first["first"][0])
    if number == 0:
        alone, _ = matched([nets[0], nets[2]], [labels[0], labels[2]], gamma=1.0)
        assert_same_function(unpadded(aggregate.model, state["wide"].tolist()), alone)
    net = unpadded(aggregate.model, state["wide"].tolist())
    (w, b), (v, a) = (wide_mlp.layers(state["nets"][k], state["wide"].tolist())[-1] for k in (0, 2))
    total = torch.tensor([5.0, 4.0], dtype=torch.float64)
    close(net[-1][1], (torch.tensor([2.0, 3.0]) * b + torch.tensor([3.0, 1.0]) * a) / total, 1e-12)
    # All are back in the next round.
    _, _, after = exchange(given, algorithm, state, 0, round=1)
    assert after["reported"].tolist() == [1, 1, 1]


# -- the engine ----------------------------------------------------------------------------------------------
def round_by_a_loop(nets, parts, labels, rate, epochs, retrain_epochs, config):
    """Algorithm 1 on nets of their true widths: (global net, clients' parts of it)."""
    m, H = len(nets), len(nets[0]) - 1
    nets = [descended(net, *part, epochs, rate) for net, part in zip(nets, parts, strict=True)]
    positions = [[list(range(nets[0][0][0].shape[1]))] * m]
    for c in range(H):
        rows = [torch.cat([net[c][0], net[c][1][:, None]], 1).numpy() for net in nets]
        mean = np.append(np.zeros(rows[0].shape[1] - 1), 0.1)
        prior = Prior(mean, config.sigma0, config.gamma, config.max_width)
        assignments, found = match(rows, [np.ones_like(mean)] * m, prior, config.sweeps, np.random.default_rng(0))
        layer = torch.from_numpy(found[:, :-1]), torch.from_numpy(found[:, -1])
        for k, (net, own) in enumerate(zip(nets, assignments, strict=True)):
            above = torch.zeros(len(net[c + 1][1]), len(found), dtype=torch.float64)
            above[:, own] = net[c + 1][0]
            net = [*net[:c], layer, (above, net[c + 1][1]), *net[c + 2 :]]
            nets[k] = descended(net, *parts[k], retrain_epochs, rate, frozen=c + 1)
        positions.append([own.tolist() for own in assignments])
    shares = labels / labels.sum(0)
    weight = sum(s[:, None] * net[-1][0] for s, net in zip(shares, nets, strict=True))
    bias = sum(s * net[-1][1] for s, net in zip(shares, nets, strict=True))
    whole = [*nets[0][:-1], (weight, bias)]
    positions.append([list(range(len(bias)))] * m)

    def part(k):
        ends = [own[k] for own in positions]
        return [(w[o][:, i], b[o]) for (w, b), i, o in zip(whole, ends[:-1], ends[1:], strict=True)]

    return whole, [part(k) for k in range(m)]


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
@pytest.mark.parametrize(("hidden", "gamma"), [([4], 7.0), ([4, 3], 7.0), ([3, 4], 0.01)])
def test_the_engine_against_nets_of_their_true_widths(backend, hidden, gamma):
    """Without sweeps, whose order is drawn."""
    hyperparameters = {"retrain_epochs": 3, "sweeps": 0, "gamma": gamma}
    changes = {"local_epochs": 2, "rounds": 2, "learning_rate": 0.2}
    spec = spec_of(
        model={"name": "mlp", "hidden": hidden}, algorithm="fedma", hyperparameters=hyperparameters, **changes
    )
    run = Simulation(spec, image_clients([8, 9, 12]), None, torch.device("cpu"), backend)
    wide, narrow = run.state["wide"].tolist(), run.state["narrow"].tolist()
    assert narrow == [4, *hidden, 3] and wide == [4, *(3 * n for n in hidden), 3]
    nets = [wide_mlp.compact(own.clone(), wide, narrow) for own in run.state["first"]]
    parts = [run.clients.parts["train"].of(k) for k in range(3)]
    for _ in range(2):
        whole, nets = round_by_a_loop(nets, parts, run.state["labels"], 0.2, 2, 3, run.algorithm.config)
        run.run_round()
        compare(unpadded(run.x, wide), whole, 1e-9)
    for own, net in zip(run.state["first"], nets, strict=True):
        compare(wide_mlp.compact(own, wide, narrow), net, 1e-9)
    run.record_evaluation()
    run.history.fetch()
    for k, part in enumerate(parts):
        close(run.result.history[-1]["loss_train"][k], loss(whole, *part), 1e-9)
