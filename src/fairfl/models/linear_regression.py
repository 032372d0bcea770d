"""Linear regression: one output w . x, whatever the data's number of classes.

FOCUS: synthetic data. FedEBA+: the toy problem of figure 1, w alone, with a `start` of its own.
"""

import math
from typing import Literal

from pydantic import Field, model_validator
from torch import nn

from fairfl.experiments.base import Strict


class Config(Strict):
    init: Literal["pytorch", "zeros"] = Field(
        "pytorch", description="pytorch: U(-1/sqrt(d), 1/sqrt(d))"
    )
    start: float | None = Field(
        None, description="value of each parameter at the start; null: as init says"
    )
    bias: bool = Field(False, description="w . x + b")

    @model_validator(mode="after")
    def _one_start(self) -> "Config":
        if self.start is not None and self.init == "zeros":
            raise ValueError(f"start is {self.start}, but init is zeros: leave out one of them")
        return self


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Samples [n, *shape] -> predictions [n, 1]."""
    dense = nn.Linear(math.prod(shape), 1, bias=config.bias)
    start = 0.0 if config.init == "zeros" else config.start
    if start is not None:
        for parameter in dense.parameters():
            nn.init.constant_(parameter, start)
    return nn.Sequential(nn.Flatten(), dense)
