"""Federations drawn at random for the algorithms that weigh clients by their losses, and what all of them promise."""

import torch
from hypothesis import strategies as st

from fairfl import algorithms
from fairfl.algorithms.interface import Federation, Reports
from tests.unit.algorithms.toy import F, G, close

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
    algorithm = algorithms.create(name, hyperparameters)
    report = Reports(
        clients=torch.arange(len(losses)),
        samples=samples,
        learning_rate=0.1,
        loss_received=losses,
        delta=torch.zeros(len(losses), 1),
    )
    return algorithm.aggregate(algorithm.init_state(Federation(samples)), report)[0].weights


def keeps_the_promises(name: str, clients, **hyperparameters) -> None:
    """Weights sum to 1, follow their clients when these change places, and ignore a constant on all losses."""
    losses, samples = columns(clients)
    w = weights(name, losses, samples, **hyperparameters)
    close(w.sum(), 1.0, 1e-9)
    turned = torch.arange(len(clients)).roll(1)
    close(weights(name, losses[turned], samples[turned], **hyperparameters), w[turned], 1e-9)
    # A constant that floating point adds without rounding leaves ties ties.
    rounded = (losses * 1024).round() / 1024
    plain = weights(name, rounded, samples, **hyperparameters)
    close(weights(name, rounded + 8, samples, **hyperparameters), plain, 1e-9)


def gradient_at_zero(objective) -> torch.Tensor:
    """Numerical gradient of objective(losses [3]) for the losses F + G z of the toy, at z = 0, [2]."""
    h = 1e-6
    return torch.stack([(objective(F + h * g) - objective(F - h * g)) / (2 * h) for g in G.T])
