"""Multi-layer perceptrons of any width inside one wide enough for all of them, as flat vectors of one size.

The units that a narrower one lacks are zero: incoming weights, bias and outgoing weights. The output of such a unit is
ReLU(0) = 0, and the gradient of all its numbers is 0, so they stay zero, and the wide net trains exactly as the narrow
one. A net is *compact* if its own units are the first ones of each layer.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from fairfl.algorithms.interface import Federation
from fairfl.runtime.errors import FairflError, OptionError

# Of a client's first net, as in the public code of PFNM: the prior mean of biases is their first value.
DEVIATION, BIAS = 0.1, 0.1


def widened(algorithm: str, model: dict[str, Any], clients: int, max_width: int) -> dict[str, Any]:
    """The perceptron with room for all neurons of all clients, at most `max_width` in each hidden layer.

    Raises FairflError for another model, OptionError if even one client's neurons do not fit.
    """
    if model["name"] != "mlp":
        raise FairflError(
            f"{algorithm}: model: it matches the neurons of an mlp with ReLU, {model['name']} is none"
        )
    widest = max(model["hidden"])
    if max_width < widest:
        raise OptionError(
            f"{algorithm}: max_width: {max_width} is less than a client's {widest} units; at least {widest}"
        )
    return {**model, "hidden": [min(clients * width, max_width) for width in model["hidden"]]}


def units(algorithm: str, federation: Federation) -> tuple[list[int], list[int]]:
    """Units of each layer, inputs and outputs included: of the wide net, and of each client's.

    Raises FairflError if the outputs are not the classes.
    """
    wide = [federation.shapes[0][1], *(shape[0] for shape in federation.shapes[1::2])]
    classes = 0 if federation.labels is None else federation.labels.shape[1]
    if wide[-1] != classes:
        raise FairflError(
            f"{algorithm}: loss: outputs are averaged by class, so it needs one output for each class, "
            f"not {wide[-1]} for {classes}; cross_entropy is such a loss"
        )
    return wide, [wide[0], *federation.model["hidden"], wide[-1]]


def layers(flat: Tensor, wide: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """Weights [..., out, in] and biases [..., out] of each layer, as views of `flat` [..., P]."""
    views, start = [], 0
    for inputs, outputs in zip(wide[:-1], wide[1:], strict=True):
        middle, stop = start + outputs * inputs, start + outputs * inputs + outputs
        views.append(
            (flat[..., start:middle].unflatten(-1, (outputs, inputs)), flat[..., middle:stop])
        )
        start = stop
    return views


def compact(
    flat: Tensor, wide: Sequence[int], narrow: Sequence[int]
) -> list[tuple[Tensor, Tensor]]:
    """`layers` without the units that compact nets lack; writing to these views writes to `flat`."""
    pairs = zip(layers(flat, wide), narrow[:-1], narrow[1:], strict=True)
    return [
        (weight[..., :outputs, :inputs], bias[..., :outputs])
        for (weight, bias), inputs, outputs in pairs
    ]


def flatten(net: Sequence[tuple[Tensor, Tensor]], wide: Sequence[int], like: Tensor) -> Tensor:
    """A net of layers (weight [out, in], bias [out]) as a compact one, [P], of the type of `like` [P]."""
    flat = torch.zeros_like(like)
    widths = [wide[0], *(len(bias) for _, bias in net)]
    for views, numbers in zip(compact(flat, wide, widths), net, strict=True):
        for view, values in zip(views, numbers, strict=True):
            view.copy_(values)
    return flat


def extract(
    net: Tensor, units: Sequence[Tensor], wide: Sequence[int], narrow: Sequence[int]
) -> Tensor:
    """Parts of one net [P] as compact nets, [m, P]: of its `units`, [m, narrow_c] for each hidden layer c."""
    m = len(units[0])
    inputs, outputs = (torch.arange(n, device=net.device).repeat(m, 1) for n in (wide[0], wide[-1]))
    units = [inputs, *units, outputs]
    parts = net.new_zeros(m, len(net))
    both = zip(compact(parts, wide, narrow), layers(net, wide), strict=True)
    for ((weight, bias), (whole_weight, whole_bias)), below, here in zip(
        both, units[:-1], units[1:], strict=True
    ):
        weight.copy_(whole_weight[here[:, :, None], below[:, None]])
        bias.copy_(whole_bias[here])
    return parts


def move_inputs(weight: Tensor, units: Tensor) -> Tensor:
    """Weights [m, out, in] whose first L inputs come from `units` [m, L] of the layer below now; all others are 0."""
    index = units[:, None].expand(-1, weight.shape[1], -1)
    return torch.zeros_like(weight).scatter_(2, index, weight[:, :, : units.shape[1]])


def drawn(
    count: int, wide: Sequence[int], narrow: Sequence[int], like: Tensor, seed: int
) -> Tensor:
    """Compact nets, [count, P], with weights from N(0, 0.1^2) and biases 0.1, of the type of `like` [P]."""
    draw = torch.Generator().manual_seed(seed)
    nets = like.new_zeros(count, like.shape[-1])
    for weight, bias in compact(nets, wide, narrow):
        weight.copy_(DEVIATION * torch.randn(weight.shape, generator=draw, dtype=torch.float64))
        bias.fill_(BIAS)
    return nets


def class_shares(labels: Tensor, otherwise: float) -> Tensor:
    """n_kd / n_d of clients' sample counts [m, C]; `otherwise` for a class that none of them has."""
    total = labels.sum(0)
    return torch.where(total > 0, labels / total.clamp(min=1), otherwise)
