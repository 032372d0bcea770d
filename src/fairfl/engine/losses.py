"""Losses: per-sample value in nats and, for steps by hand, its gradient with respect to the outputs."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """One loss: `value(outputs [..., n, C], labels [..., n])` of each sample, [..., n].

    A loss of sequences has one position more: outputs [n, T, C], labels [n, T], value [n].
    """

    value: Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class ClosedForm(Loss):
    """A loss that needs no autograd.

    `targets(labels [m, n], C, dtype)` [m, C, n] prepares labels once, so that `gradient(outputs, targets)` in the hot
    loop is a few kernels; it overwrites the outputs [m, C, n] with d value / d outputs and returns them.
    `of_targets(outputs [m, C, n], targets)` is the value again, [m, n].
    """

    targets: Callable[[Tensor, int, torch.dtype], Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]
    of_targets: Callable[[Tensor, Tensor], Tensor]


# Label of a position of a sequence at which no prediction is asked for: padding.
NOT_ASKED = -1


def mean_of_asked(values: Tensor, labels: Tensor) -> Tensor:
    """Mean of values [n, T] over the positions whose label asks for a prediction, [n]; 0 where none does."""
    asked = labels != NOT_ASKED
    return values.where(asked, 0).sum(1) / asked.sum(1).clamp(min=1)


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


def _softmax_cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """-log softmax(p)[label] for p = softmax(outputs), which is taken for logits: log(1 + (C-1)/e) to log(e + C-1).

    FedFV's released models end in a softmax, and their loss applies log-softmax to it.
    """
    return _cross_entropy(outputs.mT.contiguous().softmax(-2).mT, labels)


def _softmax_cross_entropy_gradient(outputs: Tensor, targets: Tensor) -> Tensor:
    """p (g - sum of g p) for p = softmax(outputs) and g = softmax(p) - one_hot(label)."""
    p = torch.softmax(outputs, 1, out=outputs)
    g = torch.softmax(p, 1).sub_(targets)
    return p.mul_(g.sub_((g * p).sum(1, keepdim=True)))


def _softmax_cross_entropy_of_targets(outputs: Tensor, targets: Tensor) -> Tensor:
    return _cross_entropy_of_targets(outputs.softmax(1), targets)


def _next_word(outputs: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy over the positions of a sentence that ask for a word, outputs [n, T, C], labels [n, T].

    That a sentence counts as one sample whatever its length is our reading; the papers do not say.
    """
    words = F.cross_entropy(outputs.flatten(0, 1), labels.flatten(), ignore_index=NOT_ASKED, reduction="none")
    return mean_of_asked(words.view_as(labels), labels)


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


LOSSES: dict[str, Loss] = {
    "cross_entropy": ClosedForm(_cross_entropy, _one_hot, _cross_entropy_gradient, _cross_entropy_of_targets),
    "softmax_cross_entropy": ClosedForm(
        _softmax_cross_entropy, _one_hot, _softmax_cross_entropy_gradient, _softmax_cross_entropy_of_targets
    ),
    "logistic": ClosedForm(_logistic, _zero_or_one, _logistic_gradient, _logistic_of_targets),
    "next_word": Loss(_next_word),
}


def outputs_needed(loss: str, classes: int) -> int:
    """Width of the model's last layer. Raises ValueError if logistic loss meets more than two classes."""
    if loss == "logistic":
        if classes != 2:
            raise ValueError(f"loss logistic is for 2 classes, the data have {classes}")
        return 1
    return classes


def predictions(outputs: Tensor) -> Tensor:
    """Predicted labels, [...] for outputs [..., C]; a single output is a score of label 1."""
    if outputs.shape[-1] == 1:
        return (outputs.squeeze(-1) > 0).long()
    return torch.argmax(outputs, dim=-1)
