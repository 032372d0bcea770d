"""FedEBA: the entropy-based aggregation of FedEBA+ alone.

Wang et al., Entropy-driven Fair and Effective Federated Learning, section 4.1.

    max_w  -sum_k w_k log(w_k / q_k)    s.t.  sum_k w_k = 1,  sum_k w_k A_k = an ideal loss        eq. (3)

    w_k   = q_k exp(A_k / tau_t) / sum_j q_j exp(A_j / tau_t)                                      eq. (4), Prop. 4.1
    x    <- x - sum_k w_k D_k
    tau_t = max(tau / (1 + kappa t)^s, 1e-6),    s = 0, 1, 1/2, 3: constant, linear, concave, convex    eq. (188)

q_k = 1/m, or n_k / sum_j n_j over the clients of the round. Large tau: all alike (FedAvg); small: the worst (AFL).

The text at hand has lost its formulas.
Stated         the entropy problem; q_k, for clients of unequal size; both limits of tau; names of the schedules.
Reconstructed  (3) and (4), from that. The weights rely "solely on the loss of the local model": A_k, of the trained
               model on its own training data. `before` is F_k, of the received one: TERM with alpha = 1 / tau.
Confirmed      FedEBA+ with alpha = 0 is this: the same numbers in tables 7, 15 ("(1)") and 20.
Recalled       (188), whose text names T and a decay rate: tau_T = tau / (1 + kappa (T - 1)), t = T - 1 here.
Assumed        the value of tau; kappa, of which 9 / (rounds - 1) lets the linear schedule end at tau / 10.

Tables run: FedEBA+ with prior = size.
"""

from typing import Literal

from pydantic import Field

from fairfl.algorithms.interface import Aggregate, Algorithm, Reports, State
from fairfl.algorithms.shared import entropy
from fairfl.experiments.base import Strict
from fairfl.experiments.hyperparameters import Kappa, Prior, TauSchedule, Temperature


class Config(Strict):
    tau: Temperature = 0.5
    weight_loss: Literal["after", "before", "share"] = Field(
        "after", description="training loss at x_k, or at x, or the share at x_k of the round's sum"
    )
    prior: Prior = "uniform"
    tau_schedule: TauSchedule = "constant"
    kappa: Kappa = 0.0


class FedEBA(Algorithm[Config]):
    measurements = ("loss_received", "loss_after")
    measures_objective = True

    def required_measurements(self) -> tuple[str, ...]:
        return (entropy.LOSS[self.config.weight_loss],)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        F = entropy.losses(reports, self.config)
        return Aggregate(entropy.weights(F, reports, self.config)), state
