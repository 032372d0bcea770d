"""FedEBA+. Wang et al., Entropy-driven Fair and Effective Federated Learning, Algorithm 1.

    min_x max_w  sum_k w_k F_k(x) + entropy of w                                                   eqs. (5), (6)

    clients of the round receive x, report F_k and g_k, the gradient of F_k at x
    angle = arccos(sum_k F_k / (sqrt(m) ||F||))                                                    section 4.3, figure 2
    if angle > theta:                                               unfair: gradient alignment, steps 8 to 15
        g_b   = sum_k w~_k g_k                                      the ideal fair gradient                eq. (10)
        y_k  <- y_k - eta ((1 - alpha) grad F_k(y_k) + alpha g_b)   in every local step                    eq. (11)
        G     = sum_k w_k D_k
    else:                                                           fair enough: model alignment, steps 17 to 23
        y_k  <- y_k - eta grad F_k(y_k)                             in every local step
        D_a   = sum_k q_k eta g_k                                   one local step of everybody            eq. (9)
        G     = (1 - alpha) sum_k w_k D_k + alpha D_a                                                      eq. (8)
    x <- x - G                                                                                             eq. (7)

with w_k, q_k and tau_t of FedEBA, eqs. (4) and (188). alpha = 0 is FedEBA and needs no g_k.

Two readings of "one local update", that g_k is (`gradient`), and four of "aggregation" of the g_k (`fair_weights`):

    batch, full    g_k is the gradient of the first batch, or of all samples, at x: a local step
    local_epoch    the clients first train plainly from x, y_k <- x - D'_k; g_k = D'_k / (eta J_k), of J_k local steps.
                   Then they train again from x, aligned: two exchanges in a round. D_a = sum_k q_k D'_k
    before, after  w~_k = q_k exp(A_k / tau~_t) / sum_j q_j exp(A_j / tau~_t), A_k the training loss F_k at x, or, with
                   local_epoch, at the y_k of the plain pass; tau~ = tau_fair, or tau
    share          as before, with A_k / sum_j A_j for A_k (`weight_loss` has the same for w_k)
    uniform        w~_k = q_k

The text at hand has lost its formulas.
Stated         angle with the vector of ones; which branch when; g_b from the performance of the received model without
               local shift, "i.e., one local update", the same in all local epochs; D_a from one-step gradients,
               n_k / sum n for clients of unequal size; both step ranges.
Reconstructed  all lines above, from that; q_k instead of 1/m in w~_k too. theta = 0, "if communication is affordable".
Recalled       the performance vector holds losses, not accuracies.
Assumed        values of alpha and tau. With `batch`, g_k is of the first local step. Of table 15 the row "(2)" alone:
               `uniform` aggregation, w_k = q_k, where w~_k stays.

Tables run: FedEBA+ with tau = 0.1, prior = size, gradient = local_epoch, fair_weights = after. The text speaks against
the last two, papers/fedeba.yaml says why they are run.
"""

from typing import Literal

from pydantic import Field, model_validator
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
        0.5, ge=0, le=1, description="share of the ideal gradient, eq. (7); 0 is FedEBA"
    )
    tau: Temperature = 0.5
    theta: FairAngle = 0.0
    aggregation: Literal["entropy", "uniform"] = Field(
        "entropy", description="w_k of eq. (4), or q_k (table 15)"
    )
    gradient: Literal["batch", "full", "local_epoch"] = Field(
        "batch",
        description="g_k over the first batch, or all samples, or the mean of the steps of a plain local pass",
    )
    fair_weights: Literal["uniform", "before", "after", "share"] = Field(
        "before",
        description="w~_k: q_k, or from training losses at x, or (local_epoch) after the plain pass, "
        "or from shares of the sum of the losses at x",
    )
    tau_fair: float | None = Field(
        None, ge=1e-6, description="temperature of w~_k, nats; none: tau"
    )
    rescale_model_alignment: bool = Field(
        False,
        description="eq. (9) times the local steps J_k: D_a is one step long, D_k is J_k steps",
    )
    weight_loss: Literal["after", "before", "share"] = Field(
        "after",
        description="training loss at x_k, or at x, or the share at x_k of the round's sum, in w_k",
    )
    prior: Prior = "uniform"
    tau_schedule: TauSchedule = "constant"
    kappa: Kappa = 0.0

    @model_validator(mode="after")
    def _check_loss_after(self) -> "Config":
        if self.fair_weights == "after" and self.gradient != "local_epoch":
            raise ValueError(
                f"fair_weights: after needs gradient: local_epoch, not {self.gradient}"
            )
        return self


class FedEBAPlus(Algorithm[Config]):
    measurements = (
        "loss_received",
        "loss_after",
        "gradient_batch",
        "gradient_full",
        "gradient_local_epoch",
    )
    measures_objective = True

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.two_passes = config.alpha > 0 and config.gradient == "local_epoch"

    def exchanges_per_round(self, federation: Federation) -> int:
        return 2 if self.two_passes else 1

    def required_measurements(self) -> tuple[str, ...]:
        config, losses = self.config, set()
        if config.aggregation == "entropy":
            losses.add(entropy.LOSS[config.weight_loss])
        if config.alpha > 0:
            losses.add("loss_received")  # of the angle
            if config.fair_weights == "after":
                losses.add("loss_after")
        gradients = (f"gradient_{config.gradient}",) if config.alpha > 0 else ()
        return (*sorted(losses), *gradients)

    def init_state(self, federation: Federation) -> State:
        """Number of rounds with gradient alignment, [], if any can."""
        zero = federation.samples.new_zeros(())
        return {"fair_angle_rounds": zero} if self.config.alpha > 0 else {}

    def _is_unfair(self, received: Received) -> bool:
        """Gradient alignment, not model alignment."""
        return self.config.alpha > 0 and entropy.angle(received.loss_received) > self.config.theta

    def _fair_gradient(self, received: Received, g: Tensor, A: Tensor) -> Tensor:
        """g_b of eq. (10), [P], from g [m, P] and losses A [m]."""
        w = received.shares(self.config.prior)
        if self.config.fair_weights == "share":
            A = entropy.shares(A)
        if self.config.fair_weights != "uniform":
            w = entropy.weights(A, received, self.config, self.config.tau_fair)
        return entropy.weighted(w, g)

    def configure_clients(self, state: State, received: Received) -> Plan:
        if received.exchange == 1:  # the aligned pass, if the plain one has left a direction
            if "g_b" not in state:
                return Plan(epochs=0)
            g_b = state["g_b"]
        elif self.two_passes or not self._is_unfair(received):
            return Plan()
        else:
            g_b = self._fair_gradient(received, received.gradient, received.loss_received)
        return Plan(mix=self.config.alpha, direction=g_b)  # eq. (11)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        alpha, q, J = self.config.alpha, reports.shares(self.config.prior), reports.divisor
        if reports.exchange == 1 and "g_b" not in state:
            return Aggregate(), state  # models were aligned in the first pass
        w = q
        if self.config.aggregation == "entropy":
            F = entropy.losses(reports, self.config)
            w = entropy.weights(F, reports, self.config)  # eq. (4)
        if alpha == 0:
            return Aggregate(w), state
        rounds = {"fair_angle_rounds": state["fair_angle_rounds"]}
        if reports.mix is not None:  # as they trained, whoever of them has diverged since
            return Aggregate(w), {"fair_angle_rounds": state["fair_angle_rounds"] + 1}
        g = reports.gradient
        if self.two_passes:
            if g is None:  # nor noisy ones
                g = reports.delta / (reports.learning_rate * J)[:, None].to(reports.delta.dtype)
            if self._is_unfair(reports):
                after = self.config.fair_weights == "after"
                A = reports.loss_after if after else reports.loss_received
                return Aggregate(), rounds | {"g_b": self._fair_gradient(reports, g, A)}
        steps = J if self.config.rescale_model_alignment or self.two_passes else 1
        D_a = reports.learning_rate * entropy.weighted(q * steps, g)  # eq. (9)
        return Aggregate((1 - alpha) * w, extra=alpha * D_a), rounds  # eq. (8)
