"""Server momentum. Hsu et al., Measuring the Effects of Non-Identical Data Distribution, 2019 (FedAvgM).

    v <- beta v + G                 form heavy, the heavy ball
    v <- beta v + (1 - beta) G      form ema, a moving average
    x <- x - v                      v = 0 before the first round

Under a constant G the steps tend to G / (1 - beta) with heavy and to G with ema. FedEBA+ (table 10) names neither form
nor beta. A server with several models has a v for each; running statistics have no momentum.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Federation, Reports, State
from fairfl.experiments.base import Strict
from fairfl.modifiers.interface import Modifier


class Config(Strict):
    beta: float = Field(0.9, ge=0, lt=1, description="share of v that stays; 0: no momentum")
    form: Literal["heavy", "ema"] = Field("heavy", description="G as it is, or times 1 - beta")


class ServerMomentum(Modifier[Config]):
    def init_state(self, federation: Federation) -> State:
        """v, [P] or [M, P]."""
        return {"velocity": torch.zeros_like(federation.x[..., : federation.parameters])}

    def modify_sum(
        self, state: State, G: Tensor, aggregate: Aggregate, reports: Reports
    ) -> tuple[Tensor, State]:
        """(v, state with it); G and v are [P] or [M, P]."""
        v = self.config.beta * state["velocity"] + (
            G if self.config.form == "heavy" else (1 - self.config.beta) * G
        )
        return v, {"velocity": v}
