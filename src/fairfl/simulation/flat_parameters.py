"""A model as one flat vector: its parameters, then the statistics that a forward pass changes."""

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


def statistics(model: nn.Module) -> list[Tensor]:
    """Buffers that a forward pass changes, in the order of the modules: running means and variances, and `observed`."""
    observed, running = vars(model).get("_observed", ()), ("running_mean", "running_var")
    return [b for name, b in model.named_buffers() if name in observed or name.endswith(running)]


def observe(model: nn.Module, build: Callable[[], nn.Module], inputs: Tensor) -> None:
    """Find the statistics of other names by a pass of `build()`, which is such a model, on some `inputs`.

    A constant is not: it may be infinite, and a mean of it over clients is no longer itself.
    """
    if not (before := {name: b for name, b in constants(model).items() if b.is_floating_point()}):
        return
    with torch.random.fork_rng(), torch.no_grad():
        (other := build()).train()(inputs)
    after = dict(other.named_buffers())
    vars(model)["_observed"] = {name for name, b in before.items() if not same(b, after[name])}


def constants(model: nn.Module) -> dict[str, Tensor]:
    """Copies of all other buffers by name. Batches are counted where it is not read, but for a cumulative mean."""
    moving = set(map(id, statistics(model)))
    return {
        f"{path}.{name}".lstrip("."): buffer.clone()
        for path, module in model.named_modules()
        for name, buffer in module.named_buffers(recurse=False)
        if id(buffer) not in moving
        and (name != "num_batches_tracked" or getattr(module, "momentum", None) is None)
    }


def same(one: Tensor, other: Tensor) -> bool:
    """True if the two are equal to the bit, where NaN equals NaN."""
    return torch.equal(one.nan_to_num(), other.nan_to_num())


def count(model: nn.Module) -> int:
    """Parameters P."""
    return sum(parameter.numel() for parameter in model.parameters())


def still(model: nn.Module) -> Tensor:
    """Places in [0, P) of the parameters without gradient, which no training may move."""
    flags = [torch.full((p.numel(),), not p.requires_grad) for p in model.parameters()]
    return torch.cat(flags).nonzero().flatten()


def flatten(model: nn.Module) -> Tensor:
    """Copy of all parameters in the order of `model.parameters()`, then the statistics, [P + B]."""
    buffers = [buffer.reshape(-1) for buffer in statistics(model)]
    return torch.cat([*(_stored(p.detach()).reshape(-1) for p in model.parameters()), *buffers])


def bind(model: nn.Module, flat: Tensor) -> list[Tensor]:
    """Make the model's parameters and statistics views of `flat` [P + B], so that writing to it sets the model.

    Returns the parameters, of which those with `requires_grad` can be differentiated.
    """
    start = 0
    for parameter in model.parameters():
        stop = start + parameter.numel()
        view = flat[start:stop].view(_stored(parameter).shape)
        parameter.data = view.permute(0, 3, 1, 2) if parameter.dim() == 4 else view
        start = stop
    for buffer in statistics(model):
        stop = start + buffer.numel()
        buffer.data = flat[start:stop].view(buffer.shape)
        start = stop
    return list(model.parameters())


def align_statistics(model: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """Give each bound statistic separate memory, at a multiple of 16 bytes: (own memory, views of `flat`).

    cuDNN's batch normalisation reads four numbers at once and fails with "misaligned address" elsewhere, as behind
    parameters whose number is not a multiple of four. Whoever sets `flat` copies the views, and copies back in the end.
    """
    buffers = statistics(model)
    views = [buffer.detach() for buffer in buffers]
    for buffer in buffers:
        buffer.data = buffer.clone()
    return buffers, views
