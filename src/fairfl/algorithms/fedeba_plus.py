"""FedEBA+. Wang et al., Entropy-driven Fair and Effective Federated Learning, Algorithm 1.

    min_x max_w  sum_k w_k F_k(x) + entropy of w                                                   eqs. (5), (6)

    clients of the round receive x, report F_k and g_k, the gradient of F_k at x
    angle = arccos(sum_k F_k / (sqrt(m) ||F||))                                                    section 4.3, figure 2
    if angle > theta:                                               unfair: gradient alignment, steps 8 to 15
        w~_k  = q_k exp(F_k / tau_t) / sum_j q_j exp(F_j / tau_t)
        g_b   = sum_k w~_k g_k                                      the ideal fair gradient                eq. (10)
        y_k  <- y_k - eta ((1 - alpha) grad F_k(y_k) + alpha g_b)   in every local step                    eq. (11)
        G     = sum_k w_k D_k
    else:                                                           fair enough: model alignment, steps 17 to 23
        y_k  <- y_k - eta grad F_k(y_k)                             in every local step
        D_a   = sum_k q_k eta g_k                                   one local step of everybody            eq. (9)
        G     = (1 - alpha) sum_k w_k D_k + alpha D_a                                                      eq. (8)
    x <- x - G                                                                                             eq. (7)

with w_k, q_k and tau_t of FedEBA, eqs. (4) and (188). alpha = 0 is FedEBA and needs no g_k.

The text at hand has lost its formulas.
Stated         angle with the vector of ones; which branch when; g_b from the losses of the received model, the same in
               all local steps; D_a from one-step gradients, n_k / sum n for clients of unequal size; both step ranges.
Reconstructed  all lines above, from that; q_k instead of 1/m in w~_k too. theta = 0, "if communication is affordable".
Recalled       the performance vector holds losses, not accuracies.
Assumed        values of alpha and tau; g_k from the first batch, that of the first local step. Of table 15 the row
               "(2)" alone: `uniform` aggregation, w_k = q_k, where w~_k stays.
"""

from typing import Literal

from pydantic import Field

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Plan, Received, Reports, State
from fairfl.algorithms.shared import entropy
from fairfl.experiments.base import Strict


class Config(Strict):
    alpha: float = Field(0.5, ge=0, le=1, description="share of the ideal gradient, eq. (7); 0 is FedEBA")
    tau: float = Field(0.5, ge=1e-6, description="temperature, eq. (4), nats")
    theta: float = Field(0.0, ge=0, le=180, description="fair angle, degrees; 0 aligns gradients always, 90 never")
    aggregation: Literal["entropy", "uniform"] = Field("entropy", description="w_k of eq. (4), or q_k (table 15)")
    gradient: Literal["batch", "full"] = Field("batch", description="g_k over the first batch, or all samples")
    rescale_model_alignment: bool = Field(
        False, description="eq. (9) times the local steps J_k: D_a is one step long, D_k is J_k steps"
    )
    weight_loss: Literal["after", "before"] = Field("after", description="training loss at x_k, or at x, in w_k")
    prior: Literal["uniform", "size"] = Field("uniform", description="q_k: 1/m, or by samples")
    tau_schedule: Literal["constant", "linear", "concave", "convex"] = Field("constant", description="eq. (188)")
    kappa: float = Field(0.0, ge=0, description="decay of tau; 9 / (rounds - 1): linear ends at tau / 10")


class FedEBAPlus(Algorithm[Config]):
    measurements = ("loss_received", "loss_after", "gradient_batch", "gradient_full")
    measures_objective = True

    def required_measurements(self) -> tuple[str, ...]:
        weighing = (entropy.LOSS[self.config.weight_loss],) if self.config.aggregation == "entropy" else ()
        aligning = ("loss_received", f"gradient_{self.config.gradient}") if self.config.alpha > 0 else ()
        return (*weighing, *aligning)

    def init_state(self, federation: Federation) -> State:
        """How many rounds had gradient alignment, [], if any can."""
        return {"aligned": federation.samples.new_zeros(())} if self.config.alpha > 0 else {}

    def is_unfair(self, received: Received) -> bool:
        """Gradient alignment, not model alignment."""
        return self.config.alpha > 0 and entropy.angle(received.loss_received) > self.config.theta

    def configure_clients(self, state: State, received: Received) -> Plan:
        if not self.is_unfair(received):
            return Plan()
        w = entropy.weights(received.loss_received, received, self.config)
        g_b = entropy.weighted(w, received.gradient)  # eq. (10)
        return Plan(mix=self.config.alpha, direction=g_b)  # eq. (11)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        alpha, q = self.config.alpha, reports.shares(self.config.prior)
        w = q
        if self.config.aggregation == "entropy":
            w = entropy.weights(entropy.losses(reports, self.config), reports, self.config)  # eq. (4)
        if alpha == 0:
            return Aggregate(w), state
        if self.is_unfair(reports):
            return Aggregate(w), {"aligned": state["aligned"] + 1}
        steps = reports.steps if self.config.rescale_model_alignment else 1
        D_a = reports.learning_rate * entropy.weighted(q * steps, reports.gradient)  # eq. (9)
        return Aggregate((1 - alpha) * w, extra=alpha * D_a), state  # eq. (8)
