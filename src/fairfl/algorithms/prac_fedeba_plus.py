"""Prac-FedEBA+. Wang et al., Entropy-driven Fair and Effective Federated Learning, section 4.4 and Algorithm 3.

FedEBA+ without the exchange of gradients: those along the local paths of the round before stand in for them.

    clients of the round receive x and g_b, report F_k
    if there is no g_b yet, in the first round:
        y_k  <- y_k - eta grad F_k(y_k),    G = sum_k w_k D_k       FedEBA
    else if angle > theta:                                          unfair: gradient alignment
        y_k  <- y_k - eta ((1 - alpha) grad F_k(y_k) + alpha g_b)   in each of J_k local steps             eq. (11)
        G     = sum_k w_k D_k
    else:                                                           fair enough: model alignment
        y_k  <- y_k - eta grad F_k(y_k)                             in each of J_k local steps
        G     = (1 - alpha) sum_k w_k D_k + alpha sum_k q_k D_k / J_k                                      eq. (8)
    x   <- x - G
    g_b <- sum_k v_k D_k / (eta J_k)                                for the next round                     eq. (12)

with w_k, q_k and tau_t of FedEBA, eqs. (4) and (188), and the angle of FedEBA+. alpha = 0 is FedEBA. The path of an
aligned round holds its g_b, so that g_b is a moving average: alpha = 1 would never leave the first one.

The text at hand has lost its formulas.
Stated         the average of multiple local updates approximates one-step gradients; the last round's stand for this
               one's; the model travels once to the server, as in FedAvg.
Reconstructed  (12) and the order of lines, from that and Algorithm 1.
Assumed        v_k = w_k, the weights just used, or from F_k by eq. (4); what replaces the one-step term of (8); plain
               FedEBA in the first round; the angle from F_k, scalars sent before training, or, without any early
               reply, from the losses that made the w_k of the round before; values of alpha, tau and theta.

Tables run: FedEBA+ with prior = size.
"""

from typing import Literal

from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import (
    Aggregate,
    Algorithm,
    Federation,
    Plan,
    Received,
    Reports,
    State,
)
from fairfl.algorithms.shared import entropy
from fairfl.experiments.base import Strict
from fairfl.experiments.hyperparameters import FairAngle, Kappa, Prior, TauSchedule, Temperature


class Config(Strict):
    alpha: float = Field(
        0.5, ge=0, lt=1, description="share of the ideal gradient, eq. (7); 0 is FedEBA"
    )
    tau: Temperature = 0.5
    theta: FairAngle = 0.0
    angle_from: Literal["received", "previous"] = Field(
        "received",
        description="losses of the angle: F_k of this round, or those behind the last round's w_k",
    )
    gradient_weights: Literal["aggregation", "received"] = Field(
        "aggregation", description="v_k of eq. (12): w_k, or eq. (4) with F_k"
    )
    weight_loss: Literal["after", "before", "share"] = Field(
        "after",
        description="training loss at x_k, or at x, or the share at x_k of the round's sum, in w_k",
    )
    prior: Prior = "uniform"
    tau_schedule: TauSchedule = "constant"
    kappa: Kappa = 0.0


class PracFedEBAPlus(Algorithm[Config]):
    measurements = ("loss_received", "loss_after")
    measures_objective = True

    def required_measurements(self) -> tuple[str, ...]:
        config, losses = self.config, {entropy.LOSS[self.config.weight_loss]}
        if config.alpha > 0 and "received" in (config.angle_from, config.gradient_weights):
            losses.add("loss_received")
        return tuple(sorted(losses))

    def init_state(self, federation: Federation) -> State:
        """Number of rounds with gradient alignment, [], if any can. After a round also g_b, [P], and its angle, []."""
        zero = federation.samples.new_zeros(())
        return {"fair_angle_rounds": zero} if self.config.alpha > 0 else {}

    def _is_unfair(self, state: State, received: Received) -> bool:
        """Gradient alignment, not model alignment."""
        if self.config.angle_from == "previous":
            return bool(state["angle"] > self.config.theta)
        return entropy.angle(received.loss_received) > self.config.theta

    def configure_clients(self, state: State, received: Received) -> Plan:
        if "g_b" in state and self._is_unfair(state, received):
            return Plan(mix=self.config.alpha, direction=state["g_b"])  # eq. (11)
        return Plan()

    def _fair_gradient(self, reports: Reports, w: Tensor) -> Tensor:
        """g_b of eq. (12), [P], from the weights w just used, [m]."""
        v = w
        if self.config.gradient_weights == "received":
            v = entropy.weights(reports.loss_received, reports, self.config)
        return entropy.weighted(v / (reports.learning_rate * reports.divisor), reports.delta)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        alpha, q = self.config.alpha, reports.shares(self.config.prior)
        F = entropy.losses(reports, self.config)
        w = entropy.weights(F, reports, self.config)  # eq. (4)
        if alpha == 0:
            return Aggregate(w), state
        g_b, angle = self._fair_gradient(reports, w), w.new_tensor(entropy.angle(F))
        following = {"fair_angle_rounds": state["fair_angle_rounds"], "g_b": g_b, "angle": angle}
        if "g_b" not in state:
            return Aggregate(w), following
        if reports.mix is not None:  # as they trained, whoever of them has diverged since
            return Aggregate(w), following | {"fair_angle_rounds": state["fair_angle_rounds"] + 1}
        one_step = entropy.weighted(q / reports.divisor, reports.delta)  # sum_k q_k D_k / J_k
        return Aggregate((1 - alpha) * w, extra=alpha * one_step), following  # eq. (8)
