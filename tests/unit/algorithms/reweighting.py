"""Federations drawn at random for the algorithms that weigh clients by their losses, and gradients of objectives."""

import torch

from fairfl import algorithms
from fairfl.algorithms.interface import Federation, Reports
from tests.unit.algorithms.toy import F, G


def vector(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def weights(name: str, losses: torch.Tensor, samples: torch.Tensor, **hyperparameters) -> torch.Tensor:
    """Weights of the first round, in which everybody takes part."""
    algorithm = algorithms.create(name, hyperparameters)
    report = Reports(
        clients=torch.arange(len(losses)),
        samples=samples,
        learning_rate=0.1,
        loss_received=losses,
        delta=torch.zeros(len(losses), 1),
    )
    return algorithm.aggregate(algorithm.init_state(Federation(samples)), report)[0].weights


def gradient_at_zero(objective) -> torch.Tensor:
    """Numerical gradient of objective(losses [3]) for the losses F + G z of the toy, at z = 0, [2]."""
    h = 1e-6
    return torch.stack([(objective(F + h * g) - objective(F - h * g)) / (2 * h) for g in G.T])
