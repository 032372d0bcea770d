"""FedMGDA+. Hu et al., FedMGDA+: Federated Learning Meets Multi-objective Optimization, 2020.

    min_x  (F_1(x), ..., F_K(x))                                          all objectives at once

    u_k  = D_k / ||D_k||
    lam  = argmin || sum_k lam_k u_k ||^2   s.t.  sum lam = 1, lam >= 0, |lam_k - lam0_k| <= epsilon
    x   <- x - eta_global sum_k lam_k u_k

Written as weights of D_k:  w_k = eta_global lam_k / ||D_k||.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Reports, State
from fairfl.algorithms.shared.min_norm import min_norm
from fairfl.algorithms.shared.span import gram
from fairfl.experiments.base import Strict


class Config(Strict):
    epsilon: float = Field(
        0.1, ge=0, description="how far lam may leave lam0; 0 is lam0, 1 is plain MGDA"
    )
    center: Literal["samples", "uniform"] = Field(
        "samples", description="lam0: n_k over the round's samples, or 1/m"
    )
    eta_global: Annotated[float, Field(gt=0)] | Literal["decaying"] | None = Field(
        None,
        description="length of the step for unit updates; decaying: 1 at first, and falls with the local rate; null: "
        "the local rate, as in FedFV's released code",
    )


class FedMGDAPlus(Algorithm[Config]):
    """By design not `equal_clients`: a step has the length eta_global.
    By design not `weights_sum_to_one`: weights are divided by the lengths of the updates.
    """

    def init_state(self, federation: Federation) -> State:
        """The local rate of the first step, 0 before it, where the server's step falls with it."""
        zero = torch.zeros((), dtype=torch.float64)
        return {"first_rate": zero} if self.config.eta_global == "decaying" else {}

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        lam0 = reports.shares("size" if self.config.center == "samples" else "uniform").cpu()
        products = gram(reports.delta)
        length = products.diagonal().sqrt()
        # A client that did not move has u_k = 0.
        inverse = torch.where(length < 1e-12, 0.0, 1 / length)
        Q = inverse[:, None] * products * inverse
        lower = (lam0 - self.config.epsilon).clamp(min=0)
        upper = (lam0 + self.config.epsilon).clamp(max=1)
        lam = min_norm(Q, lower, upper, lam0)
        eta = self.config.eta_global
        if eta == "decaying":
            first = float(state["first_rate"]) or reports.learning_rate
            eta = reports.learning_rate / first
            state = {"first_rate": state["first_rate"].new_tensor(first)}
        eta = reports.learning_rate if eta is None else eta
        return Aggregate(weights=(eta * lam * inverse).to(reports.delta.device)), state
