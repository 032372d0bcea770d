"""FedFa. Huang et al., Fairness and Accuracy in Federated Learning, 2020; as released with FedFV.

    min_x  sum_k p_k F_k(x)

    c_k   <- c_k + 1                                             rounds in which client k took part
    A_k    = -log2( a_k / sum_j a_j + 1e-6 )                     divided by sum_j A_j
    C_k    = -log2( 1 - c_k / sum_j c_j + 1e-5 )                 divided by sum_j C_j
    w_k    = alpha A_k + beta C_k                                alpha + beta = 1
    Delta  = - sum_k w_k D_k                                     what FedAvg with these weights would add to x
    v     <- gamma_s v + (1 - gamma_s) Delta
    x     <- x + Delta + sign eta v

A low accuracy and many rounds raise the weight. Clients train with momentum gamma_c, from zero in every round.
The paper describes v as an acceleration (sign 1); the released code subtracts it (sign -1), which slows down.
It also averages models by its option --aggregate, by default `uniform`, and then leaves the w_k unused: w_k = 1/m.

Tables run: FedFV with weighting = uniform.
"""

from math import isclose
from typing import Literal

import torch
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
    put,
)
from fairfl.experiments.base import Strict


class Config(Strict):
    alpha: float = Field(0.5, ge=0, le=1, description="share of accuracy in the weights")
    beta: float = Field(
        0.5, ge=0, le=1, description="share of participation in the weights, 1 - alpha"
    )
    gamma_s: float = Field(0.5, ge=0, le=1, description="server momentum")
    gamma_c: float = Field(0.9, ge=0, lt=1, description="client momentum")
    acc_of: Literal["local", "global"] = Field(
        "local", description="a_k of the trained model (released code) or of the received one"
    )
    weighting: Literal["information", "uniform"] = Field(
        "information", description="w_k as above, or 1/m as the released code without options"
    )
    sign: Literal[-1, 1] = Field(
        -1, description="server momentum subtracted (released code) or added (paper)"
    )

    @model_validator(mode="after")
    def _check_shares(self) -> "Config":
        if not isclose(self.alpha + self.beta, 1, abs_tol=1e-9):
            raise ValueError(
                f"alpha {self.alpha} and beta {self.beta} must sum to 1, e.g. beta {1 - self.alpha:g}"
            )
        return self


def normalise(information: Tensor) -> Tensor:
    """Divided by their sum, [m]; negative ones, which stem from the small constants alone, count as 0."""
    information = information.clamp(min=0)
    total = information.sum()
    return torch.where(total > 0, information / total, 1 / information.numel())


def information_weights(a: Tensor, c: Tensor, config: Config) -> Tensor:
    """w_k of the clients of a round, [m], from their training accuracies (fractions) and numbers of rounds."""
    a_share = torch.where(a.sum() > 0, a / a.sum(), 1 / a.numel())
    A = normalise(-torch.log2(a_share + 1e-6))
    C = normalise(-torch.log2(1 - c / c.sum() + 1e-5))
    return config.alpha * A + config.beta * C


class FedFa(Algorithm[Config]):
    """By design not `equal_clients`: server momentum."""

    measurements = ("accuracy_received", "accuracy_after")

    def required_measurements(self) -> tuple[str, ...]:
        if self.config.weighting == "uniform":
            return ()
        return ("accuracy_after",) if self.config.acc_of == "local" else ("accuracy_received",)

    def init_state(self, federation: Federation) -> State:
        """v [P], and in how many rounds each client took part, [K]."""
        v = torch.zeros_like(federation.x[: federation.parameters])
        return {"momentum": v, "rounds": torch.zeros_like(federation.samples)}

    def configure_clients(self, state: State, received: Received) -> Plan:
        return Plan(momentum=self.config.gamma_c)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        S, D, eta, config = reports.clients, reports.delta, reports.learning_rate, self.config
        c = state["rounds"][S] + 1
        w = reports.shares("uniform")
        if config.weighting == "information":
            a = reports.accuracy_after if config.acc_of == "local" else reports.accuracy_received
            w = information_weights(a, c, config)
        Delta = -(w.to(D.dtype) @ D)
        v = config.gamma_s * state["momentum"] + (1 - config.gamma_s) * Delta
        # x + Delta + sign eta v = x - (sum_k w_k D_k - sign eta v)
        return Aggregate(w, extra=-config.sign * eta * v), put(state, S, rounds=c) | {"momentum": v}
