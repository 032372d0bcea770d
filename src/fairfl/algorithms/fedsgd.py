"""FedSGD. McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017.

    min_x  sum_k p_k F_k(x),    D_k = eta g_k,    x <- x - sum_k p_k D_k  =  x - eta sum_k p_k g_k

with p_k = n_k / sum_j n_j over the clients of the round, or p_k = 1/m. g_k is the gradient of F_k at x over all
training samples, as McMahan et al. have it, or over the first batch. A baseline of FedEBA+, whose text says no more.
"""

from typing import Literal

from pydantic import Field

from fairfl.algorithms.interface import Aggregate, Algorithm, Plan, Received, Reports, State
from fairfl.experiments.base import Strict
from fairfl.experiments.hyperparameters import Weighting


class Config(Strict):
    gradient: Literal["full", "batch"] = Field(
        "full", description="g_k over all samples, or the first batch"
    )
    weighting: Weighting = "size"


class FedSGD(Algorithm[Config]):
    def configure_clients(self, state: State, received: Received) -> Plan:
        return Plan(single_step=True, full_batch=self.config.gradient == "full")

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        return Aggregate(weights=reports.shares(self.config.weighting)), state
