"""AFL. Mohri et al., Agnostic Federated Learning, ICML 2019.

    min_x max_{lambda in simplex}  sum_k lambda_k F_k(x)

    lambda <- Proj_simplex( lambda + eta_lambda F(x) ),    x <- x - sum_k lambda_k D_k

`order` says whether x moves with the new lambda (ascent_first) or with the old one (descent_first).
In a round with some of the clients, `sampled` says how lambda moves (no paper defines it): `mass` keeps
their total mass s = sum_{k in S} lambda_k and weights by lambda_k / s; `unit` projects them onto sum 1.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Federation, Reports, State
from fairfl.spec.base import Strict

NEEDS = ("loss_received",)
ROUNDS = True


class Config(Strict):
    eta_lambda: float = Field(0.1, ge=0, description="step size of the client weights lambda")
    start: Literal["size", "uniform"] = Field("size", description="first lambda: n_k / N or 1 / K")
    order: Literal["ascent_first", "descent_first"] = "ascent_first"
    sampled: Literal["mass", "unit"] = "mass"


def project(y: Tensor, total: float | Tensor = 1.0) -> Tensor:
    """Euclidean projection of y, [m], onto {v >= 0, sum v = total}."""
    u = y.sort(descending=True).values
    excess = (u.cumsum(0) - total) / torch.arange(1, len(u) + 1, dtype=u.dtype, device=u.device)
    rho = (u > excess).sum()  # u - excess is positive up to rho and never after it
    return (y - excess[rho - 1]).clamp(min=0)


def init(federation: Federation, config: Config) -> State:
    n = federation.samples if config.start == "size" else torch.ones_like(federation.samples)
    return {"lambda": n / n.sum()}


def aggregate(state: State, reports: Reports, config: Config) -> tuple[Aggregate, State]:
    S = reports.clients
    old = state["lambda"][S]
    mass = old.sum() if config.sampled == "mass" else torch.ones_like(old.sum())
    new = project(old + config.eta_lambda * reports.loss_received, mass)
    w = new if config.order == "ascent_first" else old
    return Aggregate(weights=w / mass), {"lambda": state["lambda"].index_copy(0, S, new)}
