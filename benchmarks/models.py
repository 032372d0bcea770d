"""The models as plain torch modules, for everybody but fairfl, which builds its own (a test compares them)."""

import itertools
import math
from typing import Any

import torch
from torch import Tensor, nn


def build(
    model: dict[str, Any], shape: tuple[int, ...], classes: int, seed: int = 0
) -> nn.Sequential:
    """Layers in fairfl's order; the same weights for everybody."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        hidden: list[int] = []
        if model["name"] == "cnn":
            kernel, padding = model["kernel"], model["padding"]
            for channels in model["channels"]:
                layers += [
                    nn.Conv2d(shape[0], channels, kernel, padding=padding),
                    nn.ReLU(),
                    nn.MaxPool2d(2),
                ]
                side = [(n + 2 * padding - kernel + 1) // 2 for n in shape[1:]]
                shape = (channels, *side)
            hidden = [model["hidden"]]
        elif model["name"] == "mlp":
            hidden = model["hidden"]
        layers.append(nn.Flatten())
        for inputs, outputs in itertools.pairwise([math.prod(shape), *hidden, classes]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        return nn.Sequential(*layers[:-1])


def flat(model: nn.Module) -> Tensor:
    """All parameters, [P], on the CPU."""
    return torch.cat([p.detach().reshape(-1).float().cpu() for p in model.parameters()])
