"""FedFV: the hand-computed examples, random order, the memory of former rounds; more of it in tests/oracle."""

import pytest
import torch

from fairfl.algorithms import fedfv
from fairfl.algorithms.interface import Federation
from tests.unit.algorithms.toy import close, told, vector

G, F = vector([2.0, 0.0], [-1.0, 1.0], [0.5, -2.0]), vector(0.9, 0.4, 1.3)


def report(updates, losses=None, ids=None, t=0, seed=0):
    losses = torch.zeros(len(updates)) if losses is None else losses
    return told(updates, ids, loss_received=losses, round=t, seed=seed)


def run(*reports, clients_per_round=3, parameters=2, **hyperparameters):
    """(G of the last round, its result)."""
    algorithm = fedfv.FedFV(fedfv.Config(**hyperparameters))
    state = algorithm.init_state(Federation(torch.ones(6), reports[0].delta.new_zeros(parameters), clients_per_round))
    for shown in reports:
        result, state = algorithm.aggregate(state, shown)
    return result.weights @ shown.delta.double() + (0 if result.extra is None else result.extra), result


@pytest.mark.parametrize(
    ("alpha", "tau", "order", "expected"),
    [
        (0.0, 0, "loss", [0.578481, -0.162698]),
        (2 / 3, 0, "loss", [0.490059, -0.347784]),
        (1.0, 0, "loss", [0.500000, -0.333333]),
        (0.0, 1, "loss", [0.268742, 0.537484]),
        (0.0, 0, "reverse", [0.576507, 0.169561]),
    ],
)
def test_example(alpha, tau, order, expected):
    """Client 4 took part two rounds ago, clients 3 and 5 one round ago."""
    past = [report(vector([-2.0, -1.0]), ids=(4,)), report(vector([-1.0, 0.5], [0.5, -3.0]), ids=(3, 5), t=1)]
    found, result = run(*past, report(G, F, t=2), alpha=alpha, tau=tau, order=order)
    close(found, expected)
    assert (result.extra is None) == (tau == 0)


@pytest.mark.parametrize(
    ("m", "alpha", "most"),
    [
        (10, 1 / 3, 4),
        (11, 0.7, 8),
        # Settings of the papers.
        *((3, alpha, most) for alpha, most in ((0.1, 1), (0.2, 1), (0.333, 1), (0.5, 2), (0.667, 2))),
        *((10, alpha, most) for alpha, most in ((0.1, 1), (0.2, 2), (0.333, 3), (0.5, 5), (0.667, 7))),
        *((20, alpha, most) for alpha, most in ((0.1, 2), (0.2, 4), (0.333, 7), (0.5, 10), (0.667, 13))),
    ],
)
def test_how_many_clients_keep_their_update(m, alpha, most):
    assert fedfv.kept([*range(m)], alpha) == [*range(m - most, m)]


def test_opposite_updates_give_no_step_despite_rounding():
    """What is left of float32 updates that cancel is noise; rescaling would blow it up."""
    direction = torch.randn(500, generator=torch.Generator().manual_seed(0))
    _, result = run(report(torch.stack([direction, -1.7 * direction])), parameters=500, alpha=0.0, tau=0)
    close(result.weights, [0.0, 0.0], 0)


def test_random_order_is_drawn_by_the_rounds_seed():
    def order(updates=G, losses=F, **given):
        return tuple(fedfv.projection_order(report(updates, losses, **given), "random"))

    orders = [order(seed=seed) for seed in range(30)]
    assert {*orders} == {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}
    assert orders[7] == order(losses=F + 5, seed=7)
    # The same clients in another place are drawn in the same order.
    first = [(5, 3, 4)[i] for i in order(ids=(5, 3, 4), seed=7)]
    assert first == [(3, 4, 5)[i] for i in order(G[[1, 2, 0]], ids=(3, 4, 5), seed=7)]


def test_a_round_that_nobody_survived_leaves_nothing():
    """Round 3 is missing, so its place still holds round 1, which is three rounds old in round 4."""
    east, west = vector([1.0, 0.0]), vector([-1.0, 1.0])
    sent = [report(west, ids=(1,), t=1), report(east, ids=(0,), t=2), report(east, ids=(0,), t=4)]
    close(run(*sent, alpha=1.0, clients_per_round=2, tau=2)[0], east[0])
