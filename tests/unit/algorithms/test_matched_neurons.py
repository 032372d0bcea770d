"""FedMA and PFNM: the specification's nets, lost reports, what may not matter, and nets of their true widths."""

import copy

import pytest
import torch

from fairfl.algorithms import fedma, pfnm
from fairfl.algorithms.shared import wide_mlp
from tests.unit.algorithms.perceptrons import (
    EXAMPLE,
    compare,
    federation,
    flat,
    random_nets,
    received,
    reports,
    unpadded,
)
from tests.unit.algorithms.toy import close
from tests.unit.plain_engine import perceptrons


# -- fedma
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


def test_example_of_fedma():
    net, state = matched(EXAMPLE, [[3], [7]], gamma=1.0, sweeps=0)
    compare(net, [([[0.633333], [-0.633333]], [0.133333, 0.066667]), ([[1.86, 1.14]], [0.08])])
    assert state["neurons_0"].tolist() == [[0, 1], [1, 0]]


def test_weights_to_the_next_layer_follow_the_neurons():
    given, algorithm, state = begin(EXAMPLE, [[3], [7]], gamma=1.0, sweeps=0)
    _, aggregate, state = exchange(given, algorithm, state, 0)
    assert aggregate.model is None, "the server's model is that of the last round until the round is over"
    plan = algorithm.configure_clients(state, received(given, exchange=1))
    assert (plan.frozen, plan.epochs) == (2, algorithm.config.retrain_epochs)
    above = wide_mlp.layers(state["nets"], [1, 4, 1])[1][0]
    close(above, [[[2, 1, 0, 0]], [[1.8, 1.2, 0, 0]]])


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
        wide, inputs = state["wide"].tolist(), torch.eye(3, dtype=torch.float64)
        own = wide_mlp.flatten(alone, wide, aggregate.model)
        close(perceptrons(aggregate.model, wide, inputs), perceptrons(own, wide, inputs), 1e-9)
    net = unpadded(aggregate.model, state["wide"].tolist())
    (w, b), (v, a) = (wide_mlp.layers(state["nets"][k], state["wide"].tolist())[-1] for k in (0, 2))
    total = torch.tensor([5.0, 4.0], dtype=torch.float64)
    close(net[-1][1], (torch.tensor([2.0, 3.0]) * b + torch.tensor([3.0, 1.0]) * a) / total, 1e-12)
    # All are back in the next round.
    _, _, after = exchange(given, algorithm, state, 0, round=1)
    assert after["reported"].tolist() == [1, 1, 1]


# -- pfnm
def deployed(nets, labels, hyperparameters=None):
    """(layers of the global net without its padding, the wide model)."""
    algorithm = pfnm.PFNM(pfnm.Config(**hyperparameters or {}))
    hidden = [len(b) for _, b in nets[0][:-1]]
    given = federation(algorithm, hidden, labels, nets[0][0][0].shape[1])
    state = algorithm.init_state(given)
    state["nets"] = flat(nets, state)
    model = algorithm.evaluation_models(state, given.x).models
    assert model.shape == (1, len(given.x))
    return unpadded(model[0], state["wide"].tolist()), model[0]


def test_example_of_pfnm():
    net, _ = deployed(EXAMPLE, [[3], [7]], {"sweeps": 0})
    expected = [([[0.633333], [-0.633333]], [0.133333, 0.066667]), ([[0.930000, 0.570000]], [0.090000])]
    compare(net, expected)


def test_variances_of_the_example_of_pfnm():
    """By hand, all merged: (sum of w / sigma2 + mu / sigma0) / (2 / sigma2 + 1 / sigma0)."""
    net, _ = deployed(EXAMPLE, [[3], [7]], {"sweeps": 0, "sigma2": 0.5, "sigma0": 10.0, "gamma": 1e-9})
    incoming, bias = net[0][0][:, 0], net[0][1]
    close(incoming, [(1 + 0.9) / 0.5 / 4.1, (-1 - 0.9) / 0.5 / 4.1])
    close(bias, [(0.3 / 0.5 + 0.01) / 4.1, (0.1 / 0.5 + 0.01) / 4.1])
    close(net[1][0], [[(0.3 * 2 + 0.7 * 1.8) / 0.5 / 2.1, (0.3 * 1 + 0.7 * 1.2) / 0.5 / 2.1]])
    close(net[1][1], [(0.08 / 0.5 + 0.01) / 2.1])


def test_weights_to_a_class_that_a_client_lacks_do_not_count():
    nets = random_nets([3, 4, 2], 2)
    other = copy.deepcopy(nets)
    other[1][-1][0][0] += 7
    other[1][-1][1][0] += 7
    compare(deployed(nets, [[2, 3], [0, 3]])[0], deployed(other, [[2, 3], [0, 3]])[0], 1e-12)
    assert not torch.equal(deployed(nets, [[2, 3], [1, 3]])[1], deployed(other, [[2, 3], [1, 3]])[1])


def test_clients_begin_with_their_own_nets_and_train_on_from_them():
    algorithm = pfnm.PFNM(pfnm.Config())
    given = federation(algorithm, [4], [[2, 3], [1, 1], [4, 1]], inputs=3)
    state = algorithm.init_state(given)
    start = algorithm.configure_clients(state, received(given, [0, 2])).start
    assert torch.equal(start, state["nets"][[0, 2]])
    assert not torch.equal(start[0], start[1])
    trained = start + 1
    aggregate, after = algorithm.aggregate(state, reports(given, trained, [0, 2]))
    assert aggregate.weights is None and aggregate.model is None, "the server's model has no part"
    assert torch.equal(after["nets"], torch.stack([trained[0], state["nets"][1], trained[1]]))
