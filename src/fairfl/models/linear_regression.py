"""Linear regression: one output w . x, whatever the data's number of classes. FOCUS, synthetic data."""

import math
from typing import Literal

from pydantic import Field
from torch import nn

from fairfl.spec.base import Strict


class Config(Strict):
    init: Literal["pytorch", "zeros"] = Field("pytorch", description="pytorch: U(-1/sqrt(d), 1/sqrt(d))")
    bias: bool = Field(False, description="w . x + b")


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    dense = nn.Linear(math.prod(shape), 1, bias=config.bias)
    if config.init == "zeros":
        for parameter in dense.parameters():
            nn.init.zeros_(parameter)
    return nn.Sequential(nn.Flatten(), dense)
