"""What an algorithm sees and answers.

Symbols (all over the m clients of a round, K clients in all, P parameters):

    x      received model, flat [P]           D_k = x - x_k   update of client k (`delta`), [m, P]
    F_k    mean training loss at x            `loss_received`, nats
    A_k    mean training loss at x_k          `loss_after`, nats
    V_k    mean validation loss at x          `val_received`, nats
    L*_k   validation loss of the best model that client k trains alone   `val_best`, nats

An algorithm file has

    class Config(Strict)                      its hyper-parameters
    NEEDS                                     which of the losses the engine must measure
    ROUNDS                                    False if it does not federate at all (local_only)
    init(federation, config) -> state         optional; state is a dict of tensors
    plan(state, received, config) -> Plan     optional; how clients train this round
    aggregate(state, reports, config) -> (Aggregate, state)

The engine forms G = sum_k w_k D_k + extra and steps x <- x - G.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

State = dict[str, Tensor]


@dataclass(frozen=True)
class Federation:
    """What is known before the first round: training samples per client, [K] float64."""

    samples: Tensor

    @property
    def clients(self) -> int:
        return self.samples.numel()


@dataclass(frozen=True)
class Received:
    """What the round's clients know before they train. Losses are [m] float64, None if not asked for."""

    clients: Tensor  # [m] int64, ids
    samples: Tensor  # [m] float64, training samples n_k
    learning_rate: float
    loss_received: Tensor | None = None
    val_received: Tensor | None = None
    val_best: Tensor | None = None


@dataclass(frozen=True)
class Reports(Received):
    """What the clients send back."""

    delta: Tensor = field(default_factory=lambda: torch.empty(0))  # [m, P], D_k
    loss_after: Tensor | None = None


@dataclass(frozen=True)
class Plan:
    """How clients train: every local step is y <- y - eta * lr_scale_k * (grad F_k(y) + prox * (y - x))."""

    lr_scale: Tensor | None = None  # [m]
    prox: float = 0.0


@dataclass(frozen=True)
class Aggregate:
    """Weights of the updates, [m] float64; they need not sum to 1 and may be negative."""

    weights: Tensor
    extra: Tensor | None = None  # [P]
    diagnostics: dict[str, float] = field(default_factory=dict)


def plain_init(federation: Federation, config: Any) -> State:
    """No server state."""
    return {}


def plain_plan(state: State, received: Received, config: Any) -> Plan:
    """Ordinary local SGD."""
    return Plan()
