"""Multi-layer perceptron: dense layers with ReLU between them, logits out."""

import math
from typing import Annotated

from pydantic import Field
from torch import nn

from fairfl.experiments.base import Strict
from fairfl.models.layers import dense


class Config(Strict):
    hidden: list[Annotated[int, Field(ge=1)]] = Field(
        default=[200, 200], min_length=1, description="units of the hidden layers"
    )


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Samples [n, *shape] -> logits [n, outputs]."""
    layers = dense([math.prod(shape), *config.hidden, outputs])
    return nn.Sequential(nn.Flatten(), *layers[:-1])
