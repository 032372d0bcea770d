"""Losses and hits of models on all clients: one forward pass over all samples, then sums per client."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from fairfl.algorithms.interface import Deployed
from fairfl.engine.federation import Part
from fairfl.engine.losses import Loss, predictions

# Samples in one forward pass. Bounds memory only.
CHUNK = 2048

Forward = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Evaluation:
    """What was measured on one part, per client. Clients without samples have NaN loss."""

    loss: Tensor  # [K] float64, mean over the client's samples, nats
    hits: Tensor  # [K, C] int64, correct predictions per true class


def count(part: Part, classes: int, chosen: Tensor | None = None) -> Tensor:
    """Samples per client and true class, [K, C] int64; `chosen` [N] bool counts only some."""
    cells = part.owners * classes + part.labels
    clients = len(part.sizes)
    return torch.bincount(cells if chosen is None else cells[chosen], minlength=clients * classes).view(clients, -1)


def _mean_per_client(losses: Tensor, part: Part) -> Tensor:
    """Mean [K] float64 of per-sample losses [N]; NaN for clients without samples.

    segment_reduce and not index_add: the order of the sum is fixed on every device.
    """
    return torch.segment_reduce(losses.double(), "mean", lengths=part.lengths, unsafe=True)


def client_losses(forward: Forward, loss: Loss, x: Tensor, part: Part) -> Tensor:
    """Mean loss of each client, [K] float64 nats, for one model x [P]; [R, K] for several, [R, P]."""
    if x.dim() == 2:
        return torch.stack([client_losses(forward, loss, model, part) for model in x])
    pieces = [losses for losses, _ in _chunks(forward, loss, x, part.inputs, part.labels)]
    return _mean_per_client(pieces[0] if len(pieces) == 1 else torch.cat(pieces), part)


def evaluate(forward: Forward, loss: Loss, deployed: Deployed, part: Part, classes: int) -> Evaluation:
    """Losses and hits of every client with the model, or the mixture of models, that is deployed to it."""
    if deployed.mixture is not None:
        measured = list(_mixed(forward, deployed, part))
    elif len(deployed.models) == 1:
        chunks = _chunks(forward, loss, deployed.models[0], part.inputs, part.labels)
        measured = [(losses, predictions(outputs)) for losses, outputs in chunks]
    else:
        own = (_chunks(forward, loss, x, *part.of(k)) for k, x in enumerate(deployed.models))
        measured = [(losses, predictions(outputs)) for chunks in own for losses, outputs in chunks]
    losses, guesses = (torch.cat(values) for values in zip(*measured, strict=True))
    return Evaluation(_mean_per_client(losses, part), count(part, classes, guesses == part.labels))


def _chunks(forward: Forward, loss: Loss, x: Tensor, inputs: Tensor, labels: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Loss of each sample under one model, and the outputs, piece by piece."""
    for start in range(0, max(1, len(labels)), CHUNK):
        outputs = forward(x, inputs[start : start + CHUNK])
        yield loss.value(outputs, labels[start : start + CHUNK]), outputs


def _mixed(forward: Forward, deployed: Deployed, part: Part) -> Iterator[tuple[Tensor, Tensor]]:
    """Loss of each sample under its client's mixture, -log of the mixed probability, and the prediction."""
    assert deployed.mixture is not None
    chunks = zip(part.inputs.split(CHUNK), part.labels.split(CHUNK), part.owners.split(CHUNK), strict=True)
    for inputs, labels, owners in chunks:
        mixed = torch.zeros((), device=labels.device)
        for model, share in zip(deployed.models, deployed.mixture[owners].T, strict=True):
            mixed = mixed + share.unsqueeze(1) * _probabilities(forward(model, inputs).double())
        yield -mixed.gather(1, labels.unsqueeze(1)).squeeze(1).clamp(min=1e-12).log(), mixed.argmax(1)


def _probabilities(outputs: Tensor) -> Tensor:
    if outputs.shape[-1] > 1:
        return outputs.softmax(-1)
    p = outputs.sigmoid()
    return torch.cat([1 - p, p], dim=-1)
