"""A regression in the engine, by hand."""

import pytest
import torch

from fairfl.simulation.simulation import Simulation
from tests.unit.simulation.federations import CPU, clients_of, spec_of


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_one_step_by_hand(backend):
    """w = 0 on (x, y) = (2, 1) and (1, -1): mean of 2 (0 - y) x is (-4 + 2) / 2 = -1; w becomes 0.1."""
    model = {"name": "linear_regression", "init": "zeros"}
    spec = spec_of(model=model, loss="squared_error", clients_per_round=1, rounds=1)
    run = Simulation(spec, clients_of([[([2.0], 1.0), ([1.0], -1.0)]], 0), None, CPU, backend)
    run.run_round()
    torch.testing.assert_close(run.x, torch.tensor([0.1], dtype=torch.float64))
    assert run.evaluate("test").loss.item() == pytest.approx((0.8**2 + 1.1**2) / 2)
