"""Losses: per-sample value and, for steps by hand, its gradient with respect to the outputs.

Values are in nats; the squared error's, the loss of regressions, are in the unit of the labels, squared.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

# Label of a position of a sequence that is padding, where nothing is predicted.
PADDING = -1


def mean_over_positions(values: Tensor, labels: Tensor) -> Tensor:
    """Mean of values [n, T] over the positions that are not padding, [n]; 0 where all are."""
    labelled = labels != PADDING
    return values.where(labelled, 0).sum(1) / labelled.sum(1).clamp(min=1)


def _probabilities(outputs: Tensor) -> Tensor:
    """softmax(outputs), [..., C]."""
    return outputs.softmax(-1)


def _minus_log(mixture: Tensor, labels: Tensor) -> Tensor:
    """-log of the label's probability, [n]; of labels [n, T] the mean over the positions that are not padding."""
    true = mixture.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    losses = -true.clamp(min=torch.finfo(true.dtype).tiny).log()
    return losses if labels.dim() == 1 else mean_over_positions(losses, labels)


@dataclass(frozen=True)
class Loss:
    """One loss: `value(outputs [..., n, C], labels [..., n])` of each sample, [..., n].

    A loss of sequences has one position more: outputs [n, T, C], labels [n, T], value [n].

    A mixture of models averages `mixed(outputs)`, for classes their probabilities, and `of_mixture(average, labels)` is
    its loss, [n]. With all weight on one model that is the value of that model, up to 708 nats in double precision.
    """

    value: Callable[[Tensor, Tensor], Tensor]
    mixed: Callable[[Tensor], Tensor] = field(default=_probabilities, kw_only=True)
    of_mixture: Callable[[Tensor, Tensor], Tensor] = field(default=_minus_log, kw_only=True)


@dataclass(frozen=True)
class ClosedForm(Loss):
    """A loss that needs no autograd.

    `targets(labels [..., n], C, dtype)` [..., C, n] prepares labels once, so that `gradient(outputs, targets)` in the
    hot loop is a few kernels; it overwrites the outputs [..., C, n] with d value / d outputs and returns them.
    `of_targets(outputs [..., C, n], targets)` is the value again, [..., n].
    """

    targets: Callable[[Tensor, int, torch.dtype], Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]
    of_targets: Callable[[Tensor, Tensor], Tensor]


def _cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """-log softmax(outputs)[label]."""
    if outputs.device.type == "cpu":
        # Softmax over a short last dimension is slow on a CPU: classes first.
        first = outputs.flatten(0, -2).T.contiguous().log_softmax(0)
        return -first.gather(0, labels.flatten().unsqueeze(0)).view_as(labels)
    return F.cross_entropy(outputs.flatten(0, -2), labels.flatten(), reduction="none").view_as(
        labels
    )


def _one_hot(labels: Tensor, outputs: int, dtype: torch.dtype) -> Tensor:
    return torch.eye(outputs, dtype=dtype, device=labels.device)[labels].mT


def _cross_entropy_gradient(outputs: Tensor, targets: Tensor) -> Tensor:
    """softmax(outputs) - one_hot(label)."""
    return torch.softmax(outputs, -2, out=outputs).sub_(targets)


def _cross_entropy_of_targets(outputs: Tensor, targets: Tensor) -> Tensor:
    return -(outputs.log_softmax(-2) * targets).sum(-2)


def _softmax_cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """-log softmax(p)[label] for p = softmax(outputs), which is taken for logits: log(1 + (C-1)/e) to log(e + C-1).

    FedFV's released models end in a softmax, and their loss applies log-softmax to it.
    """
    return _cross_entropy(outputs.mT.contiguous().softmax(-2).mT, labels)


def _softmax_cross_entropy_gradient(outputs: Tensor, targets: Tensor) -> Tensor:
    """p (g - sum of g p) for p = softmax(outputs) and g = softmax(p) - one_hot(label)."""
    p = torch.softmax(outputs, -2, out=outputs)
    g = torch.softmax(p, -2).sub_(targets)
    return p.mul_(g.sub_((g * p).sum(-2, keepdim=True)))


def _softmax_cross_entropy_of_targets(outputs: Tensor, targets: Tensor) -> Tensor:
    return _cross_entropy_of_targets(outputs.softmax(-2), targets)


def _next_word(outputs: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy over the positions of a sentence that are not padding, outputs [n, T, C], labels [n, T].

    That a sentence counts as one sample whatever its length is our reading; the papers do not say.
    """
    words = F.cross_entropy(
        outputs.flatten(0, 1), labels.flatten(), ignore_index=PADDING, reduction="none"
    )
    return mean_over_positions(words.view_as(labels), labels)


def _logistic(outputs: Tensor, labels: Tensor) -> Tensor:
    """log(1 + exp(-y z)) with one output z [..., n, 1] and y = +1 for label 1, -1 for label 0."""
    return F.binary_cross_entropy_with_logits(
        outputs.squeeze(-1), labels.to(outputs.dtype), reduction="none"
    )


def _single(labels: Tensor, outputs: int, dtype: torch.dtype) -> Tensor:
    """The label itself is the target of the one output."""
    return labels.to(dtype).unsqueeze(-2)


def _logistic_gradient(outputs: Tensor, targets: Tensor) -> Tensor:
    """sigmoid(z) - label."""
    return outputs.sigmoid_().sub_(targets)


def _logistic_of_targets(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(outputs, targets, reduction="none").squeeze(-2)


def _both_probabilities(outputs: Tensor) -> Tensor:
    """Probabilities of label 0 and label 1, [..., 2], from one output."""
    return torch.cat([(-outputs).sigmoid(), outputs.sigmoid()], dim=-1)


def _squared_error(outputs: Tensor, labels: Tensor) -> Tensor:
    """(z - y)^2 with one output z [..., n, 1] and a real label y; without a factor 1/2 (FOCUS, section 4.1)."""
    return (outputs.squeeze(-1) - labels).square()


def _squared_error_gradient(outputs: Tensor, targets: Tensor) -> Tensor:
    """2 (z - y)."""
    return outputs.sub_(targets).mul_(2)


def _squared_error_of_targets(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).square().squeeze(-2)


LOSSES: dict[str, Loss] = {
    "cross_entropy": ClosedForm(
        _cross_entropy, _one_hot, _cross_entropy_gradient, _cross_entropy_of_targets
    ),
    "softmax_cross_entropy": ClosedForm(
        _softmax_cross_entropy,
        _one_hot,
        _softmax_cross_entropy_gradient,
        _softmax_cross_entropy_of_targets,
        mixed=lambda outputs: outputs.softmax(-1).softmax(-1),
    ),
    "logistic": ClosedForm(
        _logistic, _single, _logistic_gradient, _logistic_of_targets, mixed=_both_probabilities
    ),
    "next_word": Loss(_next_word),
    "squared_error": ClosedForm(
        _squared_error,
        _single,
        _squared_error_gradient,
        _squared_error_of_targets,
        mixed=lambda outputs: outputs,
        of_mixture=_squared_error,
    ),
}


def outputs_needed(loss: str, classes: int) -> int:
    """Width of the model's last layer. Raises ValueError if logistic loss meets more than two classes."""
    if loss == "squared_error":
        return 1
    if loss == "logistic":
        if classes != 2:
            raise ValueError(f"loss logistic is for 2 classes, the data have {classes}")
        return 1
    return classes


def predictions(outputs: Tensor) -> Tensor:
    """Predicted labels, [...] for outputs [..., C]; a single output is a score of label 1.

    A regression predicts no label; nothing is counted there.
    """
    if outputs.shape[-1] == 1:
        return (outputs.squeeze(-1) > 0).long()
    return torch.argmax(outputs, dim=-1)
