"""Losses and hits of models on all clients: one forward pass over all samples, then sums per client.

A sample has one label, labels [N], or one at each position of a sequence, labels [N, T]. Accuracy counts predictions:
hits / labels that are not padding. Loss counts samples: the mean of their values, as in training. A regression, labels
[N] of floating type, predicts no class: it has a loss, no hits and no accuracy.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from fairfl.algorithms.interface import EvaluationModels
from fairfl.simulation.clients import Part
from fairfl.simulation.losses import PADDING, Loss, predictions

# Predictions and tokens in one forward pass. They bound memory only: the outputs are that many rows as wide as there
# are classes, and each layer of a transformer keeps some tens of numbers for each of its units and tokens.
CHUNK = 2048
TOKENS = 4096

Forward = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Evaluation:
    """Measurements on one part, per client. Clients without samples have NaN loss."""

    # [K] float64, mean over the client's samples, nats (squared labels in a regression)
    loss: Tensor
    hits: Tensor  # [K, C] int64, correct predictions per true class; [K, 0] in a regression


def count(part: Part, classes: int, chosen: Tensor | None = None) -> Tensor:
    """Labels per client and class, [K, C] int64; [K, 0] in a regression.

    `chosen` bool, of the labels' shape, counts only some; padding must not be among them.
    """
    clients = len(part.sizes)
    if part.labels.is_floating_point():
        return torch.zeros(clients, 0, dtype=torch.int64, device=part.labels.device)
    owners = part.owners.view(-1, *[1] * (part.labels.dim() - 1))
    cells = owners * classes + part.labels
    chosen = _is_class(part.labels) if chosen is None else chosen
    return torch.bincount(cells[chosen], minlength=clients * classes).view(clients, -1)


def recall(hits: ArrayLike, totals: ArrayLike) -> np.ndarray:
    """Mean recall over the classes present, [K], from counts [K, C]: "balanced accuracy" read otherwise (EAGLE).

    NaN for a client without samples.
    """
    hits, totals = np.asarray(hits, dtype=float), np.asarray(totals, dtype=float)
    present = totals > 0
    per_class = np.divide(hits, totals, out=np.zeros_like(hits), where=present)
    classes = present.sum(axis=-1)
    total = per_class.sum(axis=-1)
    return np.divide(total, classes, out=np.full_like(total, np.nan), where=classes > 0)


def client_losses(forward: Forward, loss: Loss, x: Tensor, part: Part) -> Tensor:
    """Mean loss of each client, [K] float64 nats, for one model x [P]; [R, K] for several, [R, P]."""
    if x.dim() == 2:
        return torch.stack([client_losses(forward, loss, model, part) for model in x])
    pieces = [losses for losses, _ in _chunks(forward, loss, x, part.inputs, part.labels)]
    return _per_client(pieces[0] if len(pieces) == 1 else torch.cat(pieces), part, "mean")


def client_measures(forward: Forward, loss: Loss, x: Tensor, part: Part) -> tuple[Tensor, Tensor]:
    """Mean loss (nats) and accuracy (fraction) of each client with model x [P], both [K] float64, in one pass.

    NaN for clients without samples; accuracy is NaN in a regression.
    """
    losses, guesses = _measured(forward, loss, EvaluationModels(x.unsqueeze(0)), part)
    classes = _is_class(part.labels)
    hits, labels = _per_sample(classes & (guesses == part.labels)), _per_sample(classes)
    return _per_client(losses, part, "mean"), _per_client(hits, part, "sum") / _per_client(
        labels, part, "sum"
    )


def count_correct(forward: Forward, x: Tensor, part: Part) -> Tensor:
    """Samples [N] that the model x [P] classifies right, bool; of a sequence, all of it."""
    size = samples_at_once(part.inputs, part.labels)
    pieces = zip(part.inputs.split(size), part.labels.split(size), strict=True)
    hits = [
        (predictions(forward(x, inputs)) == labels) | ~_is_class(labels)
        for inputs, labels in pieces
    ]
    return torch.cat([hit if hit.dim() == 1 else hit.all(1) for hit in hits])


def evaluate(
    forward: Forward, loss: Loss, deployed: EvaluationModels, part: Part, classes: int
) -> Evaluation:
    """Losses and hits of every client with the model, or the mixture of models, that is deployed to it."""
    losses, guesses = _measured(forward, loss, deployed, part)
    return Evaluation(
        _per_client(losses, part, "mean"), count(part, classes, guesses == part.labels)
    )


def finite(value: float) -> float | None:
    """A number as JSON can hold it: None for NaN and infinities."""
    return value if math.isfinite(value) else None


def samples_at_once(inputs: Tensor, labels: Tensor) -> int:
    """Samples in one forward pass: as many as have CHUNK labels or hold TOKENS tokens, at least one."""
    predictions = math.prod(labels.shape[1:])
    tokens = inputs.shape[1] if not inputs.is_floating_point() and labels.dim() == 1 else 0
    return max(1, min(CHUNK // predictions, TOKENS // tokens if tokens else CHUNK))


def _is_class(labels: Tensor) -> Tensor:
    """Labels that are classes to be predicted, bool: all but padding; none in a regression."""
    return (
        torch.zeros_like(labels, dtype=torch.bool)
        if labels.is_floating_point()
        else labels != PADDING
    )


def _per_client(values: Tensor, part: Part, reduce: str) -> Tensor:
    """Mean or sum [K] float64 of per-sample values [N]; the mean is NaN for clients without samples.

    segment_reduce and not index_add: the order of the sum is fixed on every device.
    """
    return torch.segment_reduce(values.double(), reduce, lengths=part.lengths, unsafe=True)


def _per_sample(flags: Tensor) -> Tensor:
    """Number of flags of a sample that are set, [N], from [N] or [N, T]."""
    return flags if flags.dim() == 1 else flags.sum(1)


def _measured(
    forward: Forward, loss: Loss, deployed: EvaluationModels, part: Part
) -> tuple[Tensor, Tensor]:
    """Loss [N] of each sample with what is deployed to its client, and the predictions, of the labels' shape."""
    if deployed.mixture is not None:
        measured = list(_mixed(forward, loss, deployed, part))
    elif len(deployed.models) == 1:
        chunks = _chunks(forward, loss, deployed.models[0], part.inputs, part.labels)
        measured = [(losses, predictions(outputs)) for losses, outputs in chunks]
    else:
        of_clients = (_chunks(forward, loss, x, *part.of(k)) for k, x in enumerate(deployed.models))
        measured = [
            (losses, predictions(outputs)) for chunks in of_clients for losses, outputs in chunks
        ]
    losses, guesses = (torch.cat(values) for values in zip(*measured, strict=True))
    return losses, guesses


def _chunks(
    forward: Forward, loss: Loss, x: Tensor, inputs: Tensor, labels: Tensor
) -> Iterator[tuple[Tensor, Tensor]]:
    """Loss of each sample under one model, and the outputs, piece by piece."""
    size = samples_at_once(inputs, labels)
    for start in range(0, max(1, len(labels)), size):
        outputs = forward(x, inputs[start : start + size])
        yield loss.value(outputs, labels[start : start + size]), outputs


def _mixed(
    forward: Forward, loss: Loss, deployed: EvaluationModels, part: Part
) -> Iterator[tuple[Tensor, Tensor]]:
    """Loss of each sample under its client's mixture of models, and the prediction."""
    assert deployed.mixture is not None
    size = samples_at_once(part.inputs, part.labels)
    chunks = zip(
        part.inputs.split(size), part.labels.split(size), part.owners.split(size), strict=True
    )
    for inputs, labels, owners in chunks:
        mixed = torch.zeros((), device=labels.device)
        for model, share in zip(deployed.models, deployed.mixture[owners].T, strict=True):
            mixed = mixed + share.view(-1, *[1] * labels.dim()) * loss.mixed(
                forward(model, inputs).double()
            )
        yield loss.of_mixture(mixed, labels), mixed.argmax(-1)
