"""Multi-layer perceptron: dense layers with ReLU between them, logits out."""

import math

from pydantic import Field, field_validator
from torch import nn

from fairfl.experiments.base import Strict
from fairfl.models.layers import dense


class Config(Strict):
    hidden: list[int] = Field(default=[200, 200], min_length=1, description="units of the hidden layers")

    @field_validator("hidden")
    @classmethod
    def _positive(cls, value: list[int]) -> list[int]:
        if min(value) < 1:
            raise ValueError(f"a hidden layer needs at least one unit, got {value}")
        return value


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Samples [n, *shape] -> logits [n, outputs]."""
    layers = dense([math.prod(shape), *config.hidden, outputs])
    return nn.Sequential(nn.Flatten(), *layers[:-1])
