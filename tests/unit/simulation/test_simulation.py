"""The simulator: evaluation rounds, divergence, a regression by hand, what is exchanged."""

import pytest
import torch

from fairfl.algorithms.interface import Aggregate, Plan
from fairfl.simulation.history import log_spaced
from fairfl.simulation.simulation import Simulation
from tests.unit.simulation.federations import CPU, clients_of, spec_of
from tests.unit.simulation.test_extension_points import register, simulation


def test_a_model_that_nobody_can_train_has_diverged():
    # It stays where it was, and its test loss is a number. That must not pass for a result.
    run = simulation(evaluate_every=1)
    run.clients.parts["train"].inputs[:] = float("inf")
    first, *others = run.run().history
    assert torch.isfinite(first["loss_test"]).all()
    assert len(others) == 6 and all(row["loss_test"].isnan().all() for row in others)


def test_log_spaced_rounds():
    assert sorted(log_spaced(1000, 4)) == [1, 10, 100, 1000]
    assert sorted(log_spaced(10, 8)) == [1, 2, 3, 4, 5, 7, 10], "rounds 1.4 and 1 are one"
    assert sorted(log_spaced(1, 2)) == [1]


def test_evaluations_at_log_spaced_rounds_come_on_top_and_change_nothing():
    plain, spaced = (simulation(rounds=20, evaluate_every=8, keep="path", **more) for more in ({}, {"evaluate_log": 4}))
    results = [run.run() for run in (plain, spaced)]
    rounds = [[int(row["round"]) for row in result.history] for result in results]
    assert rounds == [[0, 8, 16, 20], [0, 1, 3, 7, 8, 16, 20]]
    assert len(results[1].path) == 7
    kept = [row for row, number in zip(results[1].history, rounds[1], strict=True) if number in rounds[0]]
    for row, other in zip(results[0].history, kept, strict=True):
        assert all(torch.equal(row[name], other[name]) for name in row)


# -- A regression in the engine, by hand.
@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_one_step_by_hand(backend):
    """w = 0 on (x, y) = (2, 1) and (1, -1): mean of 2 (0 - y) x is (-4 + 2) / 2 = -1; w becomes 0.1."""
    model = {"name": "linear_regression", "init": "zeros"}
    spec = spec_of(model=model, loss="squared_error", clients_per_round=1, rounds=1)
    run = Simulation(spec, clients_of([[([2.0], 1.0), ([1.0], -1.0)]], 0), None, CPU, backend)
    run.run_round()
    torch.testing.assert_close(run.x, torch.tensor([0.1], dtype=torch.float64))
    assert run.evaluate("test").loss.item() == pytest.approx((0.8**2 + 1.1**2) / 2)


# -- What clients and server exchange.
def test_every_number_that_is_sent_counts(monkeypatch):
    """15 parameters, 3 clients, 6 rounds. FedAvg: a model down and up; then a loss, a gradient up, a direction down."""
    plan = Plan(mix=0.5, direction=torch.linspace(-1, 1, 15).double())
    aligned = {"measurements": ("loss_received", "gradient_batch"), "configure_clients": lambda *_: plan}
    # Two exchanges in a round: who has the model is not sent it again.
    still = {"exchanges_per_round": lambda *_: 2, "aggregate": lambda self, state, reports: (Aggregate(), state)}
    own, idle = still | {"traffic": lambda *_: (2, 3)}, still | {"configure_clients": lambda *_: Plan(epochs=0)}
    for hooks, sent in (({}, 30), (aligned, 30 + 1 + 15 + 15), (still, 15 + 2 * 15), (own, 5), (idle, 30)):
        register(monkeypatch, "toy", **hooks)
        run = simulation("toy")
        run.run()
        assert run.communication.sent == 6 * 3 * sent
        costs = {"comm_cost": 3 * sent * 4 / 2**20, "comm_extra_cost": 3 * (sent - 30) * 4 / 2**20}
        assert run.measures() == pytest.approx(costs)
