"""PFNM: the specification's nets, what may not matter, and the engine."""

import copy

import torch

from fairfl.algorithms import pfnm
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


# -- the global net ------------------------------------------------------------------------------------------
def test_example():
    net, _ = deployed(EXAMPLE, [[3], [7]], {"sweeps": 0})
    expected = [([[0.633333], [-0.633333]], [0.133333, 0.066667]), ([[0.930000, 0.570000]], [0.090000])]
    compare(net, expected)


def test_variances_of_the_example():
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


# -- training ------------------------------------------------------------------------------------------------
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
