"""CoreFed. Ray Chaudhury, Li, Kang, Li, Mehta, Fairness in Federated Learning via Core-Stability, NeurIPS 2022.

    u_k(x) = M - F_k(x)                  utility of client k, M above every loss
    max_x  sum_k log u_k(x)              where utilities are concave, its solution is core-stable: no coalition T has a
                                         model y with (|T|/K) u_k(y) >= u_k(x) for all of T, and > for one of them

    gradient  - sum_k grad F_k / (M - F_k),  hence
    w_k = f_k / max(M - F_k, epsilon),  divided by their sum over the clients of the round

with f_k = 1, or f_k = n_k for `weighting: size`. RECONSTRUCTED: the objective is the paper's, the form of the
server's step and the M of unbounded losses are ours, as its text could not be read. M is max(M, 1.2 max_k F_k), with
the losses of the first round that ends. PropFair has the same objective, but its clients descend the logarithm.
"""

from typing import Literal

from pydantic import Field

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Reports, State
from fairfl.algorithms.shared.core_stability import core_weights, utility_bound
from fairfl.experiments.base import Strict


class Config(Strict):
    M: float = Field(
        5.0,
        gt=0,
        description="loss at which the utility of a client is 0, nats; 5 is for 10 classes",
    )
    epsilon: float = Field(0.2, gt=0, description="smallest utility that counts, nats")
    weighting: Literal["uniform", "size"] = Field("uniform", description="f_k: 1, or n_k")


class CoreFed(Algorithm[Config]):
    """By design not `constant_loss`: utilities are M - F_k, with one M."""

    measurements = ("loss_received",)
    is_reconstructed = True

    def init_state(self, federation: Federation) -> State:
        """M, []; 0 as long as it is not known."""
        return {"M": federation.samples.new_zeros(())}

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        F, f = reports.loss_received, reports.factors(self.config.weighting)
        M = utility_bound(state["M"], F, self.config.M)
        return Aggregate(weights=core_weights(M, F, f, self.config.epsilon)), {"M": M}
