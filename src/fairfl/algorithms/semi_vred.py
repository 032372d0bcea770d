"""Semi-VRed. Malekmohammadi, Yu, Semi-Variance Reduction for Fair Federated Learning, Algorithm 1 with eq. (10).

    min_x  sum_k p_k F_k(x) + beta sum_k p_k (F_k(x) - Fbar(x))_+^2,    Fbar = sum_k p_k F_k     eq. (9)

    e_k = (F_k - Fbar)_+                                                only clients above the mean
    G   = Dbar + 2 beta sum_k p_k e_k (D_k - Dbar),                     Dbar = sum_k p_k D_k     eq. (10)

with p_k = n_k / sum_j n_j over the clients of the round. Written as weights, with ebar = sum_k p_k e_k:

    w_k = p_k (1 + 2 beta (e_k - ebar)),    sum_k w_k = 1

Unlike in VRed ebar is not 0: every client pays for the lift of those above the mean. Weights are positive for
beta < 1 / (2 ebar); negative ones are kept, as in the paper.
"""

from pydantic import Field

from fairfl.algorithms.interface import Aggregate, Algorithm, Reports, State
from fairfl.experiments.base import Strict


class Config(Strict):
    beta: float = Field(
        0.1, ge=0, description="weight of the upper semi-variance of client losses; 0 is FedAvg"
    )


class SemiVRed(Algorithm[Config]):
    measurements = ("loss_received",)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        p, F = reports.shares(), reports.loss_received
        e = (F - p @ F).clamp(min=0)
        return Aggregate(weights=p * (1 + 2 * self.config.beta * (e - p @ e))), state
