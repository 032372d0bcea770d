"""The server's step: what it makes of the updates and running statistics that clients send."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Reports
from fairfl.simulation.modifiers import Modifiers

# Fields of Reports that hold one number per client, [m] or [M, m]; NaN for clients without validation samples.
VALIDATION = ("validation_loss_received", "local_optimum_loss")
# Those and the others, which are NaN for diverged clients only.
NUMBERS = ("loss_received", "accuracy_received", "loss_after", "accuracy_after", *VALIDATION)

# Fields of Reports that hold one row per client, [m, ...]; one vector or several per client, [..., m, *].
ROWS = ("clients", "samples", "gradient", "correct_received", "correct_after", "steps")
MODELS = ("delta", "start", "buffers")


def server_step(
    x: Tensor, parameters: int, aggregate: Aggregate, reports: Reports, modifiers: Modifiers
) -> Tensor:
    """The next x [P + B] or [M, P + B]: the model that the algorithm made, or x - G with G = sum_k w_k D_k + extra.

    The modifiers change G. The B running statistics become the mean of the clients', see `buffer_update`.
    """
    if aggregate.model is not None:
        return aggregate.model
    if aggregate.weights is None and aggregate.extra is None:
        return x  # no step, which the modifiers must not see either
    G = x.new_zeros(*x.shape[:-1], parameters)
    if aggregate.weights is not None:
        G = weighted_sum(aggregate.weights, reports.delta, several=x.dim() == 2)
    if aggregate.extra is not None:
        G = G + aggregate.extra
    G = modifiers.total(G, aggregate, reports)
    if reports.buffers is None:
        return x - G
    buffers = x[..., parameters:]
    moved = torch.zeros_like(buffers)
    if aggregate.weights is not None:
        moved = buffer_update(buffers, reports.buffers, aggregate.weights, reports.samples)
    return x - torch.cat([G, moved], dim=-1)


def weighted_sum(weights: Tensor, delta: Tensor, several: bool) -> Tensor:
    """sum_k w_k D_k: [P]; [M, P] if the server keeps `several` models and w is [M, m], D [M, m, P].

    Where each client trains one model, the D [m, P] of all clients serve every model of the server.
    """
    weights = weights.to(delta.dtype)
    if several and delta.dim() == 2:
        return weights @ delta
    if several:
        return torch.bmm(weights.unsqueeze(1), delta).squeeze(1)
    m, P = delta.shape[-2:]
    # A product for each model that clients train: those of weight 0 must not change how the others are summed.
    products = (w @ D for w, D in zip(weights.reshape(-1, m), delta.reshape(-1, m, P), strict=True))
    return sum(products, delta.new_zeros(()))


def buffer_update(own: Tensor, buffers: Tensor, weights: Tensor, samples: Tensor) -> Tensor:
    """own - mean of the clients' buffers: what is taken from the server's `own` buffers, [B] or [M, B].

    One server model: the mean by n_k [m], whatever the algorithm's weights are, so that variances stay positive; of the
    models that each client trains, [models, m, B], those count that have a weight. Several: by the weights of each,
    [M, m]; a model without any weight keeps its buffers.
    """
    if own.dim() == 1:
        used = weights.ne(0).any(-1, keepdim=True) if weights.dim() == 2 else weights.new_ones(())
        share = (used * samples / samples.sum()).reshape(-1)
        share = share / share.sum().clamp(min=1e-300)
        rows = buffers.reshape(len(share), -1)
        return share.sum().to(own.dtype) * own - share.to(own.dtype) @ rows
    total = weights.sum(1, keepdim=True).to(own.dtype)
    return total * own - weighted_sum(weights, buffers, several=True)


def _measured(reports: Reports, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(reports, name)) is not None}


def drop_diverged(reports: Reports, validation: Tensor) -> Reports:
    """The reports without clients that sent a NaN or an infinity; perhaps no client is left.

    Numbers on validation data count only where a client has such samples; `validation` [K] is their number.
    """
    numbers, vectors = _measured(reports, NUMBERS), _measured(reports, ("delta", "gradient"))
    total = sum(value.sum() for value in (numbers | vectors).values())
    if math.isfinite(total):  # a sum is not, if one of its terms is not
        return reports
    # A NaN or an infinity shows in the largest or the smallest entry.
    probes = [vector.amax(-1).double() - vector.amin(-1) for vector in vectors.values()]
    empty = validation[reports.clients] == 0
    for name, value in numbers.items():
        probes.append(value.masked_fill(empty, 0) if name in VALIDATION else value)
    good = torch.atleast_2d(sum(probes, reports.samples)).isfinite().all(0)
    if good.all():
        return reports
    return replace(
        reports,
        **{name: value[..., good] for name, value in numbers.items()},
        **{name: value[good] for name, value in _measured(reports, ROWS).items()},
        **{name: value[..., good, :] for name, value in _measured(reports, MODELS).items()},
    )
