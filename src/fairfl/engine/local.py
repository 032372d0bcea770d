"""What both backends share: the description of local training, batches, evaluation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from fairfl.algorithms.interface import Plan
from fairfl.engine.federation import Part
from fairfl.engine.losses import predictions
from fairfl.engine.seeds import generator

# Samples in one forward or backward pass. Bounds memory only: gradients and losses of a larger batch are
# accumulated over pieces of this size.
CHUNK = 2048


@dataclass(frozen=True)
class LocalTraining:
    """Local SGD of a round: `batch_size` None is full batch."""

    epochs: int
    batch_size: int | None
    learning_rate: float
    seed: int


@dataclass(frozen=True)
class Evaluation:
    """Losses and hits of one model on one part, per client. Clients without samples have NaN loss."""

    loss: Tensor  # [K] float64, mean over the client's samples, nats
    hits: Tensor  # [K, C] int64, correct predictions per true class
    totals: Tensor  # [K, C] int64, samples per true class


class Backend(Protocol):
    """Client steps on flat parameters. Both backends agree to float tolerance."""

    def train(self, x: Tensor, clients: Tensor, plan: Plan, local: LocalTraining, round: int) -> Tensor:
        """Updates D_k = x - x_k of the clients, [m, P]."""

    def forward(self, x: Tensor, inputs: Tensor) -> Tensor:
        """Outputs [n, C] of one model x [P]."""


def batches(count: int, local: LocalTraining, round: int, client: int) -> Iterator[Tensor | None]:
    """Sample numbers of each local step of a client; None is the full batch. The last batch may be short."""
    for epoch in range(local.epochs):
        if local.batch_size is None or local.batch_size >= count:
            yield None
            continue
        order = torch.randperm(count, generator=generator(local.seed, "batches", round, client, epoch))
        yield from order.split(local.batch_size)


Forward = Callable[[Tensor, Tensor], Tensor]
Loss = Callable[[Tensor, Tensor], Tensor]


def _mean_per_client(losses: Tensor, part: Part) -> Tensor:
    """Mean loss [K] float64 of per-sample losses [N]; NaN for clients without samples.

    segment_reduce and not index_add: the order of the sum is fixed on every device.
    """
    return torch.segment_reduce(losses.double(), "mean", lengths=part.counts.to(losses.device), unsafe=True)


@torch.no_grad()
def client_losses(forward: Forward, loss: Loss, x: Tensor, part: Part) -> Tensor:
    """Mean loss of one model on every client's samples, [K] float64 nats, in one forward pass."""
    chunks = zip(part.inputs.split(CHUNK), part.labels.split(CHUNK), strict=True)
    return _mean_per_client(torch.cat([loss(forward(x, inputs), labels) for inputs, labels in chunks]), part)


@torch.no_grad()
def evaluate(forward: Forward, loss: Loss, x: Tensor, part: Part, classes: int) -> Evaluation:
    """Losses and hits of one model on every client's samples, in one forward pass."""
    losses, hits = [], []
    for inputs, labels in zip(part.inputs.split(CHUNK), part.labels.split(CHUNK), strict=True):
        outputs = forward(x, inputs)
        losses.append(loss(outputs, labels))
        hits.append(predictions(outputs) == labels)
    clients = len(part.counts)
    owner = torch.arange(clients).repeat_interleave(part.counts).to(part.labels.device)
    cell = owner * classes + part.labels

    def table(cells: Tensor) -> Tensor:
        return torch.bincount(cells, minlength=clients * classes).view(clients, classes)

    return Evaluation(_mean_per_client(torch.cat(losses), part), table(cell[torch.cat(hits)]), table(cell))
