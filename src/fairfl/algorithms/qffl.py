"""q-FFL, solved by q-FedAvg. Li et al., Fair Resource Allocation in Federated Learning, ICLR 2020, Algorithm 2.

    min_x  sum_k p_k / (q+1) * F_k(x)^(q+1)

    L       = 1 / eta                                 Lipschitz estimate from the local rate, or the option L
    u_k     = L (x - x_k) = L D_k
    Delta_k = F_k^q u_k
    h_k     = q F_k^(q-1) ||u_k||^2 + L F_k^q
    x      <- x - sum_k Delta_k / sum_k h_k           sums over the round's clients, not weighted by p_k

Written as weights of D_k:  w_k = L F_k^q / sum_j h_j.

The p_k of the objective enter through sampling alone; `weights: size` puts them into both sums, p_k Delta_k and
p_k h_k. `loss: after` takes the loss of the trained model for F_k, as the code released with FedFV does.

Tables run: FedFV with loss = after.
"""

from typing import Literal

import torch
from pydantic import Field

from fairfl.algorithms.interface import Aggregate, Algorithm, Reports, State
from fairfl.experiments.base import Strict


class Config(Strict):
    q: float = Field(1.0, ge=0, description="fairness exponent; 0 is FedAvg with uniform weights")
    epsilon: float = Field(
        1e-10, gt=0, description="added to F_k: q < 1 and F_k = 0 would give 0^(q-1)"
    )
    L: float | None = Field(
        None, gt=0, description="Lipschitz estimate; null: 1 / eta, for clients that use plain SGD"
    )
    loss: Literal["received", "after"] = Field(
        "received", description="F_k at x (paper) or at x_k (FedFV's code)"
    )
    weights: Literal["none", "size"] = Field(
        "none", description="p_k in both sums: equal, or by samples"
    )


class QFFL(Algorithm[Config]):
    """By design not `equal_clients`: q > 0 shortens the step.
    By design not `weights_sum_to_one`: sum is below 1 for q > 0.
    By design not `constant_loss`: powers of the loss are not shift-invariant.
    """

    measurements = ("loss_received", "loss_after")

    def required_measurements(self) -> tuple[str, ...]:
        return (f"loss_{self.config.loss}",)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        q, L = self.config.q, self.config.L or 1 / reports.learning_rate
        F = getattr(reports, f"loss_{self.config.loss}") + self.config.epsilon
        p = reports.factors(self.config.weights)
        # ||u_k||^2, [m]
        u_squared = torch.stack([(L * D.double()).square().sum() for D in reports.delta])
        # F^q overflows for large q. Numerator and denominator share the factor F_max^q: divide it out.
        F_q = (F / F.max()) ** q
        h = p * (q * F_q / F * u_squared + L * F_q)
        return Aggregate(weights=p * L * F_q / h.sum()), state
