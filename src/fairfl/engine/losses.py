"""Per-sample losses in nats and predictions, from outputs [..., n, C] and labels [..., n]."""

import torch
import torch.nn.functional as F
from torch import Tensor


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """-log softmax(outputs)[label], shape of `labels`."""
    return F.cross_entropy(outputs.flatten(0, -2), labels.flatten(), reduction="none").view_as(labels)


def logistic(outputs: Tensor, labels: Tensor) -> Tensor:
    """log(1 + exp(-y z)) with one output z [..., n, 1] and y = +1 for label 1, -1 for label 0."""
    return F.softplus((1 - 2 * labels.to(outputs.dtype)) * outputs.squeeze(-1))


LOSSES = {"cross_entropy": cross_entropy, "logistic": logistic}


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
