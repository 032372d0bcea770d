"""AFL. Mohri et al., Agnostic Federated Learning, ICML 2019.

    min_x max_{lambda in simplex}  sum_k lambda_k F_k(x)

    lambda <- Proj_simplex( lambda + eta_lambda F(x) ),    x <- x - sum_k lambda_k D_k

`order` says whether x moves with the new lambda (ascent_first) or with the old one (descent_first).
In a round with some of the clients, `sampled` says how lambda moves (no paper defines it): `mass` keeps
their total mass s = sum_{k in S} lambda_k and weights by lambda_k / s, by n_k where s is 0; `unit` projects them
onto sum 1.

`report` says which model is evaluated: the last one, or the mean of all models after a round, (1/t) sum_{i=1..t} x_i,
as in the paper's Algorithm 1 and in the code released with FedFV. Clients always receive the last one.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Algorithm, EvaluationModels, Federation, Reports, State
from fairfl.experiments.base import Strict


class Config(Strict):
    eta_lambda: float = Field(0.1, ge=0, description="step size of the client weights lambda")
    start: Literal["size", "uniform"] = Field("size", description="first lambda: n_k / N or 1 / K")
    order: Literal["ascent_first", "descent_first"] = "ascent_first"
    sampled: Literal["mass", "unit"] = "mass"
    report: Literal["last", "average"] = Field(
        "last", description="model that is evaluated: x_t or mean of x_1 ... x_t"
    )


def project(y: Tensor, total: float | Tensor = 1.0) -> Tensor:
    """Euclidean projection of y, [m], onto {v >= 0, sum v = total}."""
    u = y.sort(descending=True).values
    excess = (u.cumsum(0) - total) / torch.arange(1, len(u) + 1, dtype=u.dtype, device=u.device)
    rho = (u > excess).sum()  # u - excess is positive up to rho and never after it; nowhere if total is 0
    return (y - excess[(rho - 1).clamp(min=0)]).clamp(min=0)


def averaged(state: State, x: Tensor) -> Tensor:
    """Mean of x_1, ..., x_t, where x = x_t and the state holds the mean of those before; x_0 does not count."""
    return torch.lerp(state["mean"], x, 1 / state["rounds"].clamp(min=1))


class AFL(Algorithm[Config]):
    measurements = ("loss_received",)

    def init_state(self, federation: Federation) -> State:
        n = federation.samples if self.config.start == "size" else torch.ones_like(federation.samples)
        state = {"lambda": n / n.sum()}
        if self.config.report == "average":
            state |= {
                "mean": federation.x,
                "rounds": torch.zeros((), dtype=federation.x.dtype, device=federation.x.device),
            }
        return state

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        S = reports.clients
        old = state["lambda"][S]
        mass = old.sum() if self.config.sampled == "mass" else torch.ones_like(old.sum())
        new = project(old + self.config.eta_lambda * reports.loss_received, mass)
        w = new if self.config.order == "ascent_first" else old
        state = {**state, "lambda": state["lambda"].index_copy(0, S, new)}
        if self.config.report == "average":
            state |= {"mean": averaged(state, reports.x), "rounds": state["rounds"] + 1}
        n = reports.samples
        return Aggregate(weights=torch.where(mass < 1e-12, n / n.sum(), w / mass)), state

    def evaluation_models(self, state: State, x: Tensor) -> EvaluationModels:
        return EvaluationModels((averaged(state, x) if self.config.report == "average" else x).unsqueeze(0))
