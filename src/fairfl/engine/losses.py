"""Losses: per-sample value in nats, and its gradient with respect to the outputs in closed form."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """One loss: `value(outputs [..., n, C], labels [..., n])` of each sample, [..., n].

    `targets(labels [m, n], C, dtype)` [m, C, n] prepares labels once, so that `gradient(outputs, targets)` in the hot
    loop is two kernels; it overwrites the outputs [m, C, n] with d value / d outputs and returns them.
    `of_targets(outputs [m, C, n], targets)` is the value again, [m, n].
    """

    value: Callable[[Tensor, Tensor], Tensor]
    targets: Callable[[Tensor, int, torch.dtype], Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]
    of_targets: Callable[[Tensor, Tensor], Tensor]


def _cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """-log softmax(outputs)[label]."""
    if outputs.device.type == "cpu":
        # Softmax over a short last dimension is slow on a CPU: classes first.
        first = outputs.flatten(0, -2).T.contiguous().log_softmax(0)
        return -first.gather(0, labels.flatten().unsqueeze(0)).view_as(labels)
    return F.cross_entropy(outputs.flatten(0, -2), labels.flatten(), reduction="none").view_as(labels)


def _one_hot(labels: Tensor, outputs: int, dtype: torch.dtype) -> Tensor:
    return torch.eye(outputs, dtype=dtype, device=labels.device)[labels].mT


def _cross_entropy_gradient(outputs: Tensor, targets: Tensor) -> Tensor:
    """softmax(outputs) - one_hot(label)."""
    return torch.softmax(outputs, 1, out=outputs).sub_(targets)


def _cross_entropy_of_targets(outputs: Tensor, targets: Tensor) -> Tensor:
    return -(outputs.log_softmax(1) * targets).sum(1)


def _logistic(outputs: Tensor, labels: Tensor) -> Tensor:
    """log(1 + exp(-y z)) with one output z [..., n, 1] and y = +1 for label 1, -1 for label 0."""
    return F.binary_cross_entropy_with_logits(outputs.squeeze(-1), labels.to(outputs.dtype), reduction="none")


def _zero_or_one(labels: Tensor, outputs: int, dtype: torch.dtype) -> Tensor:
    return labels.to(dtype).unsqueeze(1)


def _logistic_gradient(outputs: Tensor, targets: Tensor) -> Tensor:
    """sigmoid(z) - label."""
    return outputs.sigmoid_().sub_(targets)


def _logistic_of_targets(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(outputs, targets, reduction="none").squeeze(1)


LOSSES = {
    "cross_entropy": Loss(_cross_entropy, _one_hot, _cross_entropy_gradient, _cross_entropy_of_targets),
    "logistic": Loss(_logistic, _zero_or_one, _logistic_gradient, _logistic_of_targets),
}


def outputs_needed(loss: str, classes: int) -> int:
    """Width of the model's last layer. Raises ValueError if logistic loss meets more than two classes."""
    if loss == "logistic":
        if classes != 2:
            raise ValueError(f"loss logistic is for 2 classes, the data have {classes}")
        return 1
    return classes


def predictions(outputs: Tensor) -> Tensor:
    """Predicted labels [..., n]; a single output is a score of label 1."""
    if outputs.shape[-1] == 1:
        return (outputs.squeeze(-1) > 0).long()
    return torch.argmax(outputs, dim=-1)
