"""Regressions in the engine: FOCUS's synthetic data from the draw to the losses of clients, checks, both backends."""

import pytest
import torch

from fairfl.data import synthetic_regression
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.simulation import Simulation
from tests.unit.simulation.federations import CPU, clients_of, spec_of

MODEL = {"name": "linear_regression", "init": "zeros"}


def spec(**changes):
    return spec_of(**{"model": MODEL, "loss": "squared_error", "clients_per_round": 4, "evaluate_every": 10, **changes})


def synthetic(seed=0, **options):
    """Training and test parts as the data have them, float64; nobody has a validation part."""
    drawn = synthetic_regression.prepare(
        None, synthetic_regression.Config(**{"clients": 4, "dimensions": 3, "test_per_client": 400, **options}), seed
    )
    inputs, labels, test = (torch.from_numpy(drawn.tensors[name]) for name in ("inputs", "labels", "official_test"))

    def part(rows):
        return Part(inputs[rows].double(), labels[rows], torch.full((4,), len(labels[rows]) // 4))

    nothing = Part(inputs[:0].double(), labels[:0], torch.zeros(4, dtype=torch.int64))
    return Clients({"train": part(test == 0), "validation": nothing, "test": part(test == 1)}, 0, inputs.shape[1:])


def test_one_step_by_hand():
    """w = 0 on (x, y) = (2, 1) and (1, -1): mean of 2 (0 - y) x is (-4 + 2) / 2 = -1; w becomes 0.1."""
    clients = clients_of([[([2.0], 1.0), ([1.0], -1.0)]], 0)
    simulation = Simulation(spec(clients_per_round=1, rounds=1), clients, None, CPU)
    simulation.run_round()
    torch.testing.assert_close(simulation.x, torch.tensor([0.1], dtype=torch.float64))
    assert simulation.evaluate("test").loss.item() == pytest.approx((0.8**2 + 1.1**2) / 2)


ALGORITHMS = {"fedavg": {}, "focus": {"M": 2}, "ditto": {"lam": 0.5, "report": "personal"}}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch_size", [None, 30])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_stacked_and_sequential_agree(algorithm, batch_size, bias):
    """FedAvg, several models that are mixed, a proximal term."""
    changes = {"algorithm": algorithm, "hyperparameters": ALGORITHMS[algorithm], "rounds": 3, "batch_size": batch_size}
    changes["model"] = {**MODEL, "init": "pytorch", "bias": bias}
    clients = synthetic()
    runs = [Simulation(spec(**changes), clients, None, CPU, name).run() for name in ("stacked", "sequential")]
    torch.testing.assert_close(*(run.x for run in runs))
    torch.testing.assert_close(*(run.history[-1]["loss_test"] for run in runs))
