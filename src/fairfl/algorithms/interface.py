"""What an algorithm sees and answers.

Symbols (all over the m clients of a round, K clients in all, P parameters):

    x      received model, flat [P]           D_k = x - x_k   update of client k (`delta`), [m, P]
    F_k    mean training loss at x            `loss_received`, nats
    A_k    mean training loss at x_k          `loss_after`, nats
    a_k    training accuracy                  `accuracy_received` at x, `accuracy_after` at x_k, fraction
    V_k    mean validation loss at x          `val_received`, nats
    L*_k   validation loss of the best model that client k trains alone   `val_best`, nats

An algorithm file has

    class Config(Strict)                      its hyper-parameters
    NEEDS                                     which of these numbers the engine must measure
    needs(config) -> NEEDS                    optional; those of them that this configuration really needs
    ROUNDS                                    False if it does not federate at all (local_only)
    init(federation, config) -> state         optional; state is a dict of tensors
    plan(state, received, config) -> Plan     optional; how clients train this round
    aggregate(state, reports, config) -> (Aggregate, state)

The engine forms G = sum_k w_k D_k + extra and steps x <- x - G. Two extension points, both optional:

    models(config) -> M                       the server keeps M models: x is [M, P], all of them go to every client,
                                              losses are [M, m], D is [M, m, P], weights are [M, m]
    deploy(state, x, config) -> Deployed      the models that clients are evaluated with, if that is not x

A client may also train more models than it received, a personal one for instance: `Plan.start`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

State = dict[str, Tensor]
Slope = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Federation:
    """What is known before the first round: training samples per client, [K] float64, and the first model, [P]."""

    samples: Tensor
    x: Tensor = field(default_factory=lambda: torch.empty(0))
    clients_per_round: int = 0  # m; 0: all

    @property
    def clients(self) -> int:
        return self.samples.numel()


@dataclass(frozen=True)
class Received:
    """What the round's clients know before they train. Losses are [m] float64, None if not asked for."""

    clients: Tensor  # [m] int64, ids
    samples: Tensor  # [m] float64, training samples n_k
    learning_rate: float
    x: Tensor = field(default_factory=lambda: torch.empty(0))  # [P]
    round: int = 0  # t, from 0
    seed: int = 0  # of the server's own draws in this round
    loss_received: Tensor | None = None
    accuracy_received: Tensor | None = None
    val_received: Tensor | None = None
    val_best: Tensor | None = None


@dataclass(frozen=True)
class Reports(Received):
    """What the clients send back. `start - delta` are the trained models."""

    delta: Tensor = field(default_factory=lambda: torch.empty(0))  # [m, P], D_k; [models, m, P] if there are several
    loss_after: Tensor | None = None
    accuracy_after: Tensor | None = None


@dataclass(frozen=True)
class Plan:
    """How clients train. Every local step, on a batch of mean loss l before the step, is

        v <- momentum * v + lr_scale_k * slope(l) * grad l(y) + lr_scale_k * prox * (y - x),    y <- y - eta v

    with v = 0 at the start of each round.

    `slope` is phi'(l) for clients that descend phi(l) instead of l; it maps the losses of several models at once,
    [models] -> [models], elementwise with tensor operations only; models without a batch have NaN. Give a function of
    the module or a `functools.partial` of it: a lambda made anew in each round is captured anew on a GPU.

    `start` [models, m, P] lets each client train several models, each from its own start; `prox` may then be a tensor
    [models], one factor for each. A client's models see the same batches.
    """

    lr_scale: Tensor | None = None  # [m]
    prox: float | Tensor = 0.0
    start: Tensor | None = None
    momentum: float = 0.0  # in [0, 1)
    slope: Slope | None = None


@dataclass(frozen=True)
class Aggregate:
    """Weights of the updates, [m] float64; they need not sum to 1 and may be negative.

    Where clients train several models and the server keeps one, the weights are [models, m], all summed.
    """

    weights: Tensor
    extra: Tensor | None = None  # [P]


@dataclass(frozen=True)
class Deployed:
    """Models that clients are evaluated with, [R, P]: one for all (R = 1), one each (R = K), or, with `mixture` [K, R],
    for client k the mixture sum_r mixture[k, r] * probabilities of model r."""

    models: Tensor
    mixture: Tensor | None = None


def gram(stack: Tensor) -> Tensor:
    """Inner products of the rows of [n, P], [n, n] float64 on the CPU, where small problems are solved.

    The columns are taken in pieces: a float64 copy of the whole stack could be as large as all models of a round.
    """
    total = torch.zeros(len(stack), len(stack), dtype=torch.float64, device=stack.device)
    for piece in stack.split(2**18, dim=1):
        piece = piece.double()
        total.addmm_(piece, piece.T)
    return total.cpu()


def plain_needs(module_needs: tuple[str, ...]) -> Callable[[Any], tuple[str, ...]]:
    """Everything that the file names."""
    return lambda config: module_needs


def plain_init(federation: Federation, config: Any) -> State:
    """No server state."""
    return {}


def plain_plan(state: State, received: Received, config: Any) -> Plan:
    """Ordinary local SGD."""
    return Plan()


def one_model(config: Any) -> None:
    """The server keeps one model, x is [P]."""


def deploy_received(state: State, x: Tensor, config: Any) -> Deployed:
    """Every client is evaluated with the server's model."""
    return Deployed(x.unsqueeze(0))
