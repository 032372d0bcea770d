"""FedDyn: two rounds by hand, what g_k and h promise, where it ends beside FedAvg, the engine against a loop."""

import pytest
import torch
from hypothesis import given, settings

from fairfl import algorithms
from tests.unit.algorithms import quadratics
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.test_scaffold import ROUNDS
from tests.unit.algorithms.toy import close
from tests.unit.algorithms.two_clients import Run
from tests.unit.simulation.federations import gradient, simulation


def test_two_rounds_by_hand():
    """F_k = (y - 1)^2 / 2 and (y + 3)^2 / 2, two steps of rate 0.1 from 0."""
    run = Run("feddyn", alpha=0.5).rounds(1)
    close(run.reports.delta, [[-0.185], [0.555]])
    close(run.state["g_k"], [[-0.0925], [0.2775]])
    close(run.state["h"], [0.0925])
    close(run.x, [-0.37])  # 0.185 on average, and h / alpha
    run.rounds(1)
    close(run.reports.delta, [[-0.2363375], [0.4352125]])
    close(run.state["g_k"], [[-0.21066875], [0.49510625]])
    close(run.state["h"], [0.14221875])
    close(run.x, [-0.753875])


@settings(max_examples=30)
@given(ROUNDS)
def test_h_is_the_mean_of_all_g_k_whoever_takes_part(drawn):
    algorithm = algorithms.create("feddyn", {"alpha": 0.3})
    run = quadratics.Run(
        algorithm, vector(0, 0), torch.eye(4, 2, dtype=torch.float64), None, vector(1, 2, 3, 4)[:, None]
    )
    for clients in drawn:
        before = run.state["g_k"]
        run.rounds(1, sorted(clients))
        rest = [k for k in range(4) if k not in clients]
        assert torch.equal(run.state["g_k"][rest], before[rest]), "who is not drawn keeps g_k"
        close(run.state["h"], run.state["g_k"].mean(0), 1e-12)


KNOWN = {"x": vector(0), "centres": vector(1, -3)[:, None], "curvatures": vector(1, 4)[:, None]}


def test_it_ends_at_the_minimum_where_fedavg_drifts_away():
    """Clients of other curvatures that solve their local problems: the minimum of the mean of F_k is at -2.2."""
    ends = [
        quadratics.Run(algorithms.create(name, given), **KNOWN, steps=60).rounds(200)
        for name, given in (("feddyn", {"alpha": 1.0}), ("fedavg", {"weighting": "uniform"}))
    ]
    close(ends[0].x, [-2.2])
    assert abs(ends[1].x + 2.2) > 0.1
    # There g_k is the gradient of F_k, and h, their mean, is 0.
    close(ends[0].state["g_k"], [[-3.2], [3.2]], 1e-5)


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_the_engine_against_a_plain_loop(backend):
    """Two of three clients a round, who take two full-batch steps each."""
    run = simulation("feddyn", {"alpha": 0.4}, backend, clients_per_round=2, rounds=5)
    x, h, g = run.x.clone(), torch.zeros_like(run.x), torch.zeros(3, 15, dtype=torch.float64)
    for _ in range(5):
        S, ends = run.select_clients(), []
        for k in S:
            y = x
            for _ in range(2):
                y = y - 0.1 * (gradient(run, y, k) - g[k] + 0.4 * (y - x))
            g[k] = g[k] - 0.4 * (y - x)
            ends.append(y)
        h = h - 0.4 / 3 * sum(y - x for y in ends)
        x = sum(ends) / 2 - h / 0.4
        run.run_round()
    close(run.x, x, 1e-12)
    close(run.state["g_k"], g, 1e-12)


def test_only_models_go_down_and_up():
    """A client keeps g_k itself."""
    run = simulation("feddyn", {}, rounds=4)
    run.run()
    assert run.communication.sent == 4 * 3 * 2 * 15
