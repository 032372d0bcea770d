"""The simulator: reference loop, evaluation, resume, divergence, seeds."""

import math

import pytest
import torch
import torch.nn.functional as F

from fairfl.simulation.checkpoint import Checkpoint
from fairfl.simulation.simulation import Simulation, log_spaced
from tests.unit.simulation.federations import CPU, image_clients, spec_of

BEST = torch.tensor([0.9, 1.0, 1.1], dtype=torch.float64)
HYPERPARAMETERS = {
    "fedavg": {"weighting": "size"},
    "qffl": {"q": 2.0},
    "afl": {"eta_lambda": 0.1},
    "eagle": {"lambda": 1.0, "norm": "l2_k"},
}


def simulation(clients=None, **changes):
    clients = clients or image_clients([4, 6, 9])
    return Simulation(spec_of(**changes), clients, BEST, CPU)


def test_fedavg_equals_a_plain_loop():
    clients = image_clients([4, 6, 9])
    run = simulation(clients, local_epochs=2)
    weight, bias = run.x[:12].view(3, 4).clone(), run.x[12:].clone()
    result = run.run()
    for _ in range(6):
        models = []
        for k in range(3):
            x, y = clients.parts["train"].of(k)
            w, b = weight.clone().requires_grad_(), bias.clone().requires_grad_()
            for _ in range(2):
                gw, gb = torch.autograd.grad(F.cross_entropy(F.linear(x.flatten(1), w, b), y), (w, b))
                w, b = (w - 0.1 * gw).detach().requires_grad_(), (b - 0.1 * gb).detach().requires_grad_()
            models.append((w.detach(), b.detach()))
        shares = [4 / 19, 6 / 19, 9 / 19]
        weight = sum(s * w for s, (w, _) in zip(shares, models, strict=True))
        bias = sum(s * b for s, (_, b) in zip(shares, models, strict=True))
    torch.testing.assert_close(result.x, torch.cat([weight.flatten(), bias]))


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path, monkeypatch, stop):
    """The checkpoints that a run leaves; test_every.py resumes all algorithms from a saved state."""
    monkeypatch.setattr("fairfl.simulation.checkpoint.SHARE", math.inf)  # save after every round
    checkpoint, rounds = Checkpoint(tmp_path / "checkpoint.pt", "id", interval=0), []

    class Killed(Exception):
        pass

    class Recorded(Simulation):
        def run_round(self):
            rounds.append(self.round)
            if rounds.count(stop) == 1 and self.round == stop:
                raise Killed
            super().run_round()

    given = (spec_of(rounds=4, batch_size=2, clients_per_round=2), image_clients([4, 6, 9]), None, CPU)
    with pytest.raises(Killed):
        Recorded(*given).run(checkpoint)
    result, whole = Recorded(*given).run(checkpoint), Simulation(*given).run()
    assert rounds == [*range(stop + 1), *range(stop, 4)]
    assert torch.equal(result.x, whole.x)
    for row, other in zip(result.history, whole.history, strict=True):
        assert all(torch.equal(row[key], other[key]) for key in row)


def test_a_client_that_sends_nan_is_left_out_and_counted():
    clients = image_clients([4, 6, 9])
    clients.parts["train"].inputs[5] = float("nan")  # a sample of client 1
    run = simulation(clients)
    result = run.run()
    assert torch.isfinite(result.x).all()
    assert result.dropped == 6  # one report in each of six rounds


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


def test_sampled_clients_are_distinct_sorted_and_the_same_for_all_algorithms():
    draws = []
    for algorithm in ("fedavg", "qffl"):
        run = simulation(clients_per_round=2, algorithm=algorithm, hyperparameters=HYPERPARAMETERS[algorithm])
        draws.append([])
        for run.round in range(20):
            ids = run.select_clients()
            assert len(set(ids)) == 2 and ids == sorted(ids)
            draws[-1].append(ids)
    assert draws[0] == draws[1]
    assert len({tuple(ids) for ids in draws[0]}) == 3
