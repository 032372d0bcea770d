"""FedMA: the specification's nets, lost reports, and the engine against nets of their true widths."""

import pytest
import torch

from fairfl.algorithms import fedma
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
