"""A model's trainable parameters as one flat vector."""

import torch
from torch import Tensor, nn


def initial(build, seed: int) -> nn.Module:
    """Run `build()` under its own seed without touching the global generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def _stored(parameter: Tensor) -> Tensor:
    """The parameter in the order in which the flat vector holds it.

    Convolution weights are stored channels last: CPU and GPU kernels are fastest on that.
    """
    return parameter.permute(0, 2, 3, 1) if parameter.dim() == 4 else parameter


def flatten(model: nn.Module) -> Tensor:
    """Copy of all trainable parameters, [P], in the order of `model.parameters()`."""
    return torch.cat([_stored(p.detach()).reshape(-1) for p in model.parameters()])


def bind(model: nn.Module, flat: Tensor) -> list[Tensor]:
    """Make the model's parameters views of `flat` [P], so that writing to `flat` sets the model.

    Returns the parameters, which can be differentiated.
    """
    start = 0
    for parameter in model.parameters():
        stop = start + parameter.numel()
        view = flat[start:stop].view(_stored(parameter).shape)
        parameter.data = view.permute(0, 3, 1, 2) if parameter.dim() == 4 else view
        start = stop
    return list(model.parameters())
