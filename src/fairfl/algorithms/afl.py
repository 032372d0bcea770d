"""AFL. Mohri et al., Agnostic Federated Learning, ICML 2019, Algorithm 1.

    min_x max_{lambda in simplex}  sum_k lambda_k F_k(x)

    x      <- x - sum_k lambda_k D_k
    lambda <- Proj( lambda + eta_lambda F(x) )        onto {lambda >= 0, sum lambda = 1}, F at the x before its step

and the answer is the mean of all x after a step: `order: descent_first`, `report: average`, the defaults. So do the
code of q-FFL's authors (fair_flearn) and the code released with FedFV. FairFL moves lambda first and x with the new one
(`ascent_first`), and evaluates the last model (`last`).

In a round with some of the clients S, `sampled` says how lambda moves (no paper defines it): `mass` keeps their total
s = sum_{k in S} lambda_k, `unit` projects them onto 1. Both weigh by lambda_k / s of the lambda that moves x, by n_k
where s is 0.

`report` says which model is evaluated: the mean of all models after a round, (1/t) sum_{i=1..t} x_i, or the last one.
Clients always receive the last one.

Tables run: EAGLE with start = uniform, order = ascent_first, report = last; FedEBA+ with order = ascent_first; FOCUS
with order = ascent_first; FedFV with start = uniform; VRed with order = ascent_first, report = last.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import (
    Aggregate,
    Algorithm,
    EvaluationModels,
    Federation,
    Reports,
    State,
    put,
)
from fairfl.algorithms.shared.simplex import project_on_simplex
from fairfl.experiments.base import Strict


class Config(Strict):
    eta_lambda: float = Field(0.1, ge=0, description="step size of the client weights lambda")
    start: Literal["size", "uniform"] = Field("size", description="first lambda: n_k / N or 1 / K")
    order: Literal["descent_first", "ascent_first"] = Field(
        "descent_first", description="x moves with lambda as it was, or with the new one"
    )
    sampled: Literal["mass", "unit"] = "mass"
    report: Literal["average", "last"] = Field(
        "average", description="model that is evaluated: mean of x_1 ... x_t, or x_t"
    )


def mean_iterate(state: State, x: Tensor) -> Tensor:
    """Mean of x_1, ..., x_t, where x = x_t and the state has the mean of those before; x_0 does not count. [P + B]."""
    return torch.lerp(state["mean"], x, 1 / state["rounds"].clamp(min=1))


class AFL(Algorithm[Config]):
    measurements = ("loss_received",)

    def init_state(self, federation: Federation) -> State:
        """lambda [K] of sum 1; with `report: average` also the mean of former models and how many these are."""
        n, x = federation.samples, federation.x
        n = n if self.config.start == "size" else torch.ones_like(n)
        state = {"lambda": n / n.sum()}
        if self.config.report == "average":
            state |= {"mean": x, "rounds": torch.zeros((), dtype=x.dtype, device=x.device)}
        return state

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        S, F, config = reports.clients, reports.loss_received, self.config
        old = state["lambda"][S]
        s = old.sum() if config.sampled == "mass" else torch.ones_like(old.sum())
        new = project_on_simplex(old + config.eta_lambda * F, total=s)
        lam, s = (new, s) if config.order == "ascent_first" else (old, old.sum())
        state = put(state, S, **{"lambda": new})
        if config.report == "average":
            state |= {"mean": mean_iterate(state, reports.x), "rounds": state["rounds"] + 1}
        return Aggregate(weights=torch.where(s < 1e-12, reports.shares(), lam / s)), state

    def evaluation_models(self, state: State, x: Tensor) -> EvaluationModels:
        return EvaluationModels(
            (mean_iterate(state, x) if self.config.report == "average" else x).unsqueeze(0)
        )
