"""TERM. Li et al., Tilted Empirical Risk Minimization, ICLR 2021; clients are tilted, samples are not.

    min_x  1/alpha log sum_k p_k exp(alpha F_k(x)),    p_k = n_k / sum_j n_j over the clients of the round

softmax (public code FairFL):

    w_k = p_k exp(alpha F_k) / sum_j p_j exp(alpha F_j)

moving (public code litian96/TERM, which draws clients by size): p_k = 1/m, and a moving average z for the sum. Its
server makes a model x - e_k / (m z) D_k of each client and then takes the mean of the m models:

    e_k = exp(alpha F_k - max_j alpha F_j),    z <- z/2 + mean(e)/2,    w_k = e_k / (m^2 z)

z starts at 0, so the first weights sum to 2/m; where losses stand still they come to sum to 1/m: a step is 1/m as long
as one of FedAvg.
"""

from typing import Literal

from pydantic import Field

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Reports, State
from fairfl.experiments.base import Strict


class Config(Strict):
    alpha: float = Field(
        0.01, description="tilt; 0 is FedAvg, large follows the largest loss, negative the smallest"
    )
    mode: Literal["softmax", "moving"] = "softmax"


class TERM(Algorithm[Config]):
    measurements = ("loss_received",)

    def init_state(self, federation: Federation) -> State:
        """z, [], if it moves."""
        return {"z": federation.samples.new_zeros(())} if self.config.mode == "moving" else {}

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        tilt = self.config.alpha * reports.loss_received
        if self.config.mode == "softmax":
            return Aggregate(weights=(reports.shares().log() + tilt).softmax(dim=0)), state
        e = (tilt - tilt.max()).exp()
        z = state["z"] / 2 + e.mean() / 2
        return Aggregate(weights=e / (e.numel() ** 2 * z)), {"z": z}
