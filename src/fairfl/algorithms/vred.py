"""VRed. Malekmohammadi, Yu, Semi-Variance Reduction for Fair Federated Learning, Algorithm 1.

    min_x  sum_k p_k F_k(x) + beta sum_k p_k (F_k(x) - Fbar(x))^2,    Fbar = sum_k p_k F_k       eq. (3)

    G = Dbar + 2 beta sum_k p_k (F_k - Fbar) (D_k - Dbar),            Dbar = sum_k p_k D_k       eq. (5)

with p_k = n_k / sum_j n_j over the clients of the round. Since sum_k p_k (F_k - Fbar) = 0 this is

    w_k = p_k (1 + 2 beta (F_k - Fbar)),    sum_k w_k = 1

Weights are positive for beta < 1 / (2 (Fbar - min F)); negative ones are kept, as in the paper.
"""

from pydantic import Field

from fairfl.algorithms.interface import Aggregate, Algorithm, Reports, State
from fairfl.experiments.base import Strict


class Config(Strict):
    beta: float = Field(
        0.1, ge=0, description="weight of the variance of client losses; 0 is FedAvg"
    )


class VRed(Algorithm[Config]):
    measurements = ("loss_received",)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        p, F = reports.shares(), reports.loss_received
        return Aggregate(weights=p * (1 + 2 * self.config.beta * (F - p @ F))), state
