"""A model's trainable parameters as one flat vector."""

import torch
from torch import Tensor, nn


def initial(build, seed: int) -> nn.Module:
    """Run `build()` under its own seed without touching the global generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def flatten(model: nn.Module) -> Tensor:
    """Copy of all trainable parameters, [P], in the order of `model.parameters()`."""
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def bind(model: nn.Module, flat: Tensor) -> list[Tensor]:
    """Make the model's parameters views of `flat` [P], so that writing to `flat` sets the model.

    Returns the parameters, which can be differentiated.
    """
    start = 0
    for parameter in model.parameters():
        stop = start + parameter.numel()
        parameter.data = flat[start:stop].view(parameter.shape)
        start = stop
    return list(model.parameters())
