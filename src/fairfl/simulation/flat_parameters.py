"""A model as one flat vector: its trainable parameters, then its running statistics."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def initial(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Run `build()` under its own seed without touching the global generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def _stored(parameter: Tensor) -> Tensor:
    """The parameter in the order in which the flat vector holds it.

    Convolution weights are stored channels last: CPU and GPU kernels are fastest on that.
    """
    return parameter.permute(0, 2, 3, 1) if parameter.dim() == 4 else parameter


def running_statistics(model: nn.Module) -> list[tuple[nn.Module, str]]:
    """Places of the means and variances that batch normalisation keeps, (module, name), in the order of the modules.

    The number of batches that it counts beside them is used by none of our models.
    """
    named = [
        (module, name) for module in model.modules() for name in ("running_mean", "running_var")
    ]
    return [
        (module, name) for module, name in named if isinstance(getattr(module, name, None), Tensor)
    ]


def count(model: nn.Module) -> int:
    """Trainable parameters P."""
    return sum(parameter.numel() for parameter in model.parameters())


def flatten(model: nn.Module) -> Tensor:
    """Copy of all trainable parameters in the order of `model.parameters()`, then the running statistics, [P + B]."""
    buffers = [getattr(module, name).reshape(-1) for module, name in running_statistics(model)]
    return torch.cat([*(_stored(p.detach()).reshape(-1) for p in model.parameters()), *buffers])


def bind(model: nn.Module, flat: Tensor) -> list[Tensor]:
    """Make the model's parameters and running statistics views of `flat` [P + B], so that writing to it sets the model.

    Returns the parameters, which can be differentiated.
    """
    start = 0
    for parameter in model.parameters():
        stop = start + parameter.numel()
        view = flat[start:stop].view(_stored(parameter).shape)
        parameter.data = view.permute(0, 3, 1, 2) if parameter.dim() == 4 else view
        start = stop
    for module, name in running_statistics(model):
        stop = start + getattr(module, name).numel()
        setattr(module, name, flat[start:stop])
        start = stop
    return list(model.parameters())


def align_statistics(model: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """Give each bound running statistic memory of its own, at a multiple of 16 bytes: (own memory, views of `flat`).

    cuDNN's batch normalisation reads four numbers at once and fails with "misaligned address" elsewhere, as behind
    parameters whose number is no multiple of four. Whoever sets `flat` copies the views, and copies back in the end.
    """
    places = running_statistics(model)
    views = [getattr(module, name) for module, name in places]
    own = [view.clone() for view in views]
    for (module, name), statistic in zip(places, own, strict=True):
        setattr(module, name, statistic)
    return own, views
