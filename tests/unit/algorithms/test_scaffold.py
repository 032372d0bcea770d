"""SCAFFOLD: two rounds by hand, what the variates promise, the engine against a loop."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl import algorithms
from tests.unit.algorithms import quadratics
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import close
from tests.unit.algorithms.two_clients import Run
from tests.unit.simulation.federations import gradient, simulation


def test_two_rounds_by_hand():
    """F_k = (y - 1)^2 / 2 and (y + 3)^2 / 2, two steps of rate 0.1 from 0."""
    run = Run("scaffold").rounds(1)
    close(run.x, [-0.19])
    close(run.state["c_k"], [[-0.95], [2.85]])  # D_k / (2 0.1) of D = -0.19, 0.57
    close(run.state["c"], [0.95])
    run.rounds(1)
    close(run.plan.direction, [[1.9], [-1.9]])
    close(run.reports.delta, [[0.1349], [0.1729]])
    close(run.x, [-0.3439])
    close(run.state["c_k"], [[-1.2255], [2.7645]])
    close(run.state["c"], [0.7695])


def test_option_1_takes_the_gradient_at_the_received_model():
    run = Run("scaffold", option=1, eta_g=0.5).rounds(1)
    close(run.x, [-0.095])
    close(run.state["c_k"], [[-1.0], [3.0]])
    close(run.state["c"], [1.0])


ROUNDS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True), min_size=1, max_size=6)


@settings(max_examples=30)
@given(ROUNDS, st.sampled_from([1, 2]), st.sampled_from(["size", "uniform"]))
def test_c_is_the_mean_of_all_c_k_whoever_takes_part(drawn, option, weighting):
    samples = vector(1, 2, 3, 4)
    algorithm = algorithms.create("scaffold", {"option": option, "weighting": weighting})
    run = quadratics.Run(
        algorithm, vector(0, 0), torch.eye(4, 2, dtype=torch.float64), samples, vector(1, 2, 3, 4)[:, None]
    )
    for clients in drawn:
        before = run.state["c_k"]
        run.rounds(1, sorted(clients))
        rest = [k for k in range(4) if k not in clients]
        assert torch.equal(run.state["c_k"][rest], before[rest]), "who is not drawn keeps c_k"
        pi = samples / 10 if weighting == "size" else vector(1, 1, 1, 1) / 4
        close(run.state["c"], pi @ run.state["c_k"], 1e-12)


def test_a_client_without_samples_keeps_its_variate():
    run = Run("scaffold").rounds(1)
    before = run.state["c_k"].clone()
    run.steps = vector(2, 0)
    run.rounds(1)
    assert run.state["c_k"][1] == before[1] and run.state["c_k"][0] != before[0]


@pytest.mark.parametrize("option", [1, 2])
@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_the_engine_against_a_plain_loop(backend, option):
    """Two of three clients a round, who take two full-batch steps each."""
    run = simulation("scaffold", {"option": option, "eta_g": 0.7}, backend, clients_per_round=2, rounds=5)
    x, c, own = run.x.clone(), torch.zeros_like(run.x), torch.zeros(3, 15, dtype=torch.float64)
    for _ in range(5):
        S, D, change = run.select_clients(), [], torch.zeros_like(c)
        for k in S:
            y = x
            for _ in range(2):
                y = y - 0.1 * (gradient(run, y, k) - own[k] + c)
            new = gradient(run, x, k) if option == 1 else own[k] - c + (x - y) / (2 * 0.1)
            change, own[k] = change + (new - own[k]) / 3, new
            D.append(x - y)
        x, c = x - 0.7 * (D[0] + D[1]) / 2, c + change
        run.run_round()
    close(run.x, x, 1e-12)
    close(run.state["c_k"], own, 1e-12)


@pytest.mark.parametrize("option", [1, 2])
def test_two_vectors_go_down_and_two_up(option):
    run = simulation("scaffold", {"option": option}, rounds=4)
    run.run()
    assert run.communication.sent == 4 * 3 * 4 * 15
