"""Federations drawn at random for the algorithms that weigh clients by their losses, and what all of them promise."""

import pytest
import torch
from hypothesis import strategies as st

from fairfl import algorithms
from fairfl.algorithms.interface import Federation, Reports
from fairfl.experiments.declaration import declaration
from tests.unit.algorithms.toy import F, G

# (loss in nats, training samples) per client
CLIENTS = st.lists(st.tuples(st.floats(0, 5), st.integers(1, 500)), min_size=1, max_size=8)


def vector(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def columns(clients) -> tuple[torch.Tensor, torch.Tensor]:
    """Losses [n] and samples [n]."""
    losses, samples = zip(*clients, strict=True)
    return vector(*losses), vector(*samples)


def weights(name: str, losses: torch.Tensor, samples: torch.Tensor, **hyperparameters) -> torch.Tensor:
    """Weights of the first round, in which everybody takes part."""
    known = [field.alias or key for key, field in declaration("algorithms", name).Config.model_fields.items()]
    for key in hyperparameters:
        if key not in known:
            test = f"tests/unit/algorithms/test_{name}.py"
            pytest.fail(f"{name} has no hyper-parameter {key!r}, only {', '.join(known)}: change {test}", pytrace=False)
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
