"""FedFV: the hand-computed examples, the memory of former rounds; more of it in tests/oracle."""

import pytest
import torch

from fairfl.algorithms import fedfv
from fairfl.algorithms.interface import Federation, Reports
from tests.unit.algorithms.toy import close

G = torch.tensor([[2.0, 0.0], [-1.0, 1.0], [0.5, -2.0]], dtype=torch.float64)
F = torch.tensor([0.9, 0.4, 1.3], dtype=torch.float64)
# Rounds before the example's: ids and updates. Client 4 took part two rounds ago, clients 3 and 5 one round ago.
HISTORY = [((4,), [[-2.0, -1.0]]), ((3, 5), [[-1.0, 0.5], [0.5, -3.0]])]


def report(updates, losses=None, ids=None, t=0, seed=0) -> Reports:
    updates = torch.as_tensor(updates)
    m = len(updates)
    return Reports(
        clients=torch.arange(m) if ids is None else torch.tensor(ids),
        samples=torch.full((m,), 10.0, dtype=torch.float64),
        learning_rate=0.1,
        round=t,
        seed=seed,
        loss_received=torch.zeros(m, dtype=torch.float64) if losses is None else torch.as_tensor(losses),
        delta=updates,
    )


def start(clients=6, clients_per_round=3, parameters=2, dtype=torch.float64, **hyperparameters):
    config = fedfv.Config(**hyperparameters)
    samples = torch.ones(clients, dtype=torch.float64)
    return config, fedfv.FedFV(config).init_state(
        Federation(samples, torch.zeros(parameters, dtype=dtype), clients_per_round)
    )


def step(result, reports):
    """The G of x <- x - G, as the engine forms it."""
    return result.weights @ reports.delta.double() + (0 if result.extra is None else result.extra)


def run(*rounds: Reports, **hyperparameters):
    """(G of the last round, all results)."""
    config, state = start(**hyperparameters)
    results = []
    for reports in rounds:
        result, state = fedfv.FedFV(config).aggregate(state, reports)
        results.append(result)
    return step(results[-1], rounds[-1]), results


def example(**hyperparameters):
    past = [report(torch.tensor(g, dtype=torch.float64), ids=ids, t=t) for t, (ids, g) in enumerate(HISTORY)]
    return run(*past, report(G, F, t=2), **hyperparameters)


@pytest.mark.parametrize(
    ("alpha", "tau", "order", "expected"),
    [
        (0.0, 0, "loss", [0.578481, -0.162698]),
        (1 / 3, 0, "loss", [0.455266, -0.392229]),
        (2 / 3, 0, "loss", [0.490059, -0.347784]),
        (1.0, 0, "loss", [0.500000, -0.333333]),
        (0.0, 1, "loss", [0.268742, 0.537484]),
        (0.0, 2, "loss", [-0.268742, -0.537484]),
        (0.0, 0, "reverse", [0.576507, 0.169561]),
    ],
)
def test_example(alpha, tau, order, expected):
    G_new, results = example(alpha=alpha, tau=tau, order=order)
    close(G_new, expected)
    assert (results[-1].extra is None) == (tau == 0)


def test_opposite_updates_give_no_step_despite_rounding():
    """What is left of float32 updates that cancel is noise; rescaling would blow it up."""
    direction = torch.randn(500, generator=torch.Generator().manual_seed(0))
    config, state = start(2, 2, 500, alpha=0.0, tau=0)
    result, _ = fedfv.FedFV(config).aggregate(state, report(torch.stack([direction, -1.7 * direction])))
    close(result.weights, [0.0, 0.0], 0)


def test_random_order_is_drawn_by_the_rounds_seed():
    config = fedfv.Config(order="random")
    orders = [tuple(fedfv.projection_order(report(G, F, seed=seed), config.order)) for seed in range(30)]
    assert {*orders} == {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}
    assert orders[7] == tuple(fedfv.projection_order(report(G, F + 5, seed=7), config.order))
    # The same clients in another place are drawn in the same order.
    ids = (5, 3, 4)
    turned = report(G[[1, 2, 0]], F, ids=[ids[i] for i in (1, 2, 0)], seed=7)
    first = [ids[i] for i in fedfv.projection_order(report(G, F, ids=ids, seed=7), config.order)]
    assert first == [int(turned.clients[i]) for i in fedfv.projection_order(turned, config.order)]


# -- former rounds -------------------------------------------------------------------------------------------
EAST, WEST, NORTH, SOUTH_WEST = [1.0, 0.0], [-1.0, 1.0], [0.0, 1.0], [-1.0, -1.0]


def test_a_round_that_nobody_survived_leaves_nothing():
    """Round 3 is missing, so its place still holds round 1, which is three rounds old in round 4."""
    east, west = [[1.0, 0.0]], [[-1.0, 1.0]]
    sent = {1: (1, west), 2: (0, east), 4: (0, east)}
    told = [report(torch.tensor(u, dtype=torch.float64), ids=(k,), t=t) for t, (k, u) in sent.items()]
    close(run(*told, alpha=1.0, clients_per_round=2, tau=2)[0], east[0])


def test_the_state_has_a_fixed_shape_and_is_bounded():
    config, state = start(clients=9, clients_per_round=3, alpha=0.1, tau=2, dtype=torch.float32)
    shapes = {name: (value.shape, value.dtype) for name, value in state.items()}
    stored = sum(value.numel() for value in state.values() if value.is_floating_point())
    assert stored == 2 * 3 * 2
    for t in range(5):
        m = 3 - t % 2  # in some rounds a client fails to report
        reports = report(torch.randn(m, 2, generator=torch.Generator().manual_seed(t)), ids=range(t, t + m), t=t)
        _, state = fedfv.FedFV(config).aggregate(state, reports)
        assert {name: (value.shape, value.dtype) for name, value in state.items()} == shapes
    assert state["clients_0"].tolist() == [4, 5, 6] and state["clients_1"].tolist() == [3, 4, -1]
    assert state["last"].tolist() == [0, 1, 2, 3, 4, 4, 4, -1, -1]
