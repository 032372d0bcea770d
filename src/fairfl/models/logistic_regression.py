"""Linear model with a bias: dense(inputs -> outputs), logits out.

EAGLE: 784 -> 62 on EMNIST, 2 -> 1 synthetic. FedFV's released model of Fashion-MNIST: 784 -> 3, its bias starts at 0.
"""

import math
from typing import Literal

from pydantic import Field
from torch import nn

from fairfl.experiments.base import Strict


class Config(Strict):
    init: Literal["pytorch", "zeros"] = Field(
        "pytorch", description="pytorch: U(-1/sqrt(d), 1/sqrt(d))"
    )
    bias: Literal["default", "zero"] = Field(
        "default", description="start of the bias; default: as init says"
    )


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Samples [n, *shape] -> logits [n, outputs]."""
    dense = nn.Linear(math.prod(shape), outputs)
    if config.init == "zeros":
        nn.init.zeros_(dense.weight)
    if config.init == "zeros" or config.bias == "zero":
        nn.init.zeros_(dense.bias)
    return nn.Sequential(nn.Flatten(), dense)
