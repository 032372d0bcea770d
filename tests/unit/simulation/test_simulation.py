"""The simulator: reference loop, evaluation, resume, divergence, seeds."""

import torch

from fairfl.simulation.simulation import Simulation, log_spaced
from tests.unit.simulation.federations import CPU, image_clients, spec_of

BEST = torch.tensor([0.9, 1.0, 1.1], dtype=torch.float64)


def simulation(clients=None, **changes):
    clients = clients or image_clients([4, 6, 9])
    return Simulation(spec_of(**changes), clients, BEST, CPU)


def test_a_model_that_nobody_can_train_has_diverged():
    # It stays where it was, and its test loss is a number. That must not pass for a result.
    clients = image_clients([4, 6, 9])
    clients.parts["train"].inputs[:] = float("inf")
    first, *others = simulation(clients, evaluate_every=1).run().history
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
