"""Training of one client alone, to its local optimum L*_k (EAGLE section 3.2, appendix B.1)."""

import math
from typing import Any

import torch
from torch import Tensor

from fairfl.algorithms.interface import EvaluationModels
from fairfl.algorithms.local_only import is_flat
from fairfl.partition.partition_file import PARTS
from fairfl.simulation.backends.interface import Backend, LocalTraining, Work
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.clients import Clients
from fairfl.simulation.evaluation import client_losses, count, evaluate, finite
from fairfl.simulation.losses import LOSSES
from fairfl.simulation.seeds import seed_of
from fairfl.simulation.training_spec import LocalOptimumSpec


def pretrain(spec: LocalOptimumSpec, clients: Clients, chosen: torch.device) -> dict[str, Any]:
    """Train client 0 of `clients` alone until the curve is flat or the cap is reached; keep the best model seen.

    Returns loss (nats) and accuracy (fraction) on every part, number of epochs, and why it stopped. A client whose loss
    only rose, as at too large a rate, has diverged and has neither: the model that it starts from is not an optimum.
    """
    backend, x = make_backend(spec, clients, "auto", chosen)
    best, epoch, reason = _best(spec, clients, backend, x)
    result: dict[str, Any] = {"epochs": epoch, "stopped": reason}
    for part in PARTS:
        samples = clients.parts[part]
        models = EvaluationModels(best.unsqueeze(0))
        measured = evaluate(backend.forward, LOSSES[spec.loss], models, samples, clients.classes)
        result[f"loss_{part}"] = finite(float(measured.loss[0]))
        labels = int(count(samples, clients.classes).sum())
        learnt = labels and best.isfinite().all()
        result[f"accuracy_{part}"] = float(measured.hits.sum()) / labels if learnt else None
    return result


def _best(
    spec: LocalOptimumSpec, clients: Clients, backend: Backend, x: Tensor
) -> tuple[Tensor, int, str]:
    """The best model seen, the epochs, and why training stopped."""
    rule, loss = spec.local_optimum, LOSSES[spec.loss]
    # The client is number 0 in this job; its own branch of the seed tree keeps the clients' batches apart.
    seed = seed_of(spec.seed, "optimum", spec.client)
    local = LocalTraining(1, spec.batch_size, seed, spec.optimizer, spec.weight_decay)
    rate = torch.tensor([spec.learning_rate], dtype=torch.float64)
    # A check costs a forward pass. Ten per window keep that cheap and the stopping epoch exact to a tenth.
    stride = max(1, rule.flat_window // 10)
    losses: list[float] = []
    best, reason, epoch = x, "cap", 0
    while True:
        if epoch % stride == 0 or epoch == rule.max_steps:
            losses.append(float(client_losses(backend.forward, loss, x, clients.parts["train"])[0]))
            if not math.isfinite(losses[-1]):
                reason = "diverged"
                break
            if losses[-1] == min(losses):
                best = x
            if is_flat(losses, rule.flat_window // stride, rule.flat_tolerance):
                reason = "flat"
                break
        if epoch == rule.max_steps:
            break
        x = x - backend.train(Work([0], x.unsqueeze(0), rate), local, epoch).delta[0]
        epoch += 1
    rose = reason == "diverged" or losses[-1] - losses[0] > rule.flat_tolerance * abs(losses[0])
    if rose and min(losses) == losses[0]:
        reason, best = "diverged", torch.full_like(x, math.nan)
    return best, epoch, reason
