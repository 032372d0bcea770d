"""FedDyn: two rounds by hand, the engine against a loop; more of it in tests/oracle."""

import pytest
import torch

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
