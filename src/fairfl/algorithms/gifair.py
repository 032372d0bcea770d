"""GIFAIR-FL. Yue, Nouiehed, Al Kontar, GIFAIR-FL: A Framework for Group and Individual Fairness in FL, 2023.

Global model, each client its own group:

    min_x  sum_k p_k F_k(x) + lambda sum_{i<j} |F_i(x) - F_j(x)|

    r_k        = sum_{j != k} sign(F_k - F_j)      in {-(n-1), -(n-3), ..., n-1}; ties share the middle value
    lambda_max = min_k p_k / (n-1)                 up to it all weights are non-negative; beyond it they are kept
    lambda     = c lambda_max                      c is `bound_share`

server (public code FairFL):       w_k = p_k + lambda r_k, with p, r and n over the clients of the round
client (public code GIFAIR-FL):    y <- y - eta (1 + lambda r_k / p_k) grad F_k(y),    w_k = p_k

In client mode r_k is known before training: it compares the newest loss that each of all clients has reported, and one
that has not reported yet ties with everybody. The public code reports the mean loss along the local steps, which is F_k
for one step; here it is F_k always. It draws clients by size and averages uniformly; here clients are drawn uniformly
and averaged by size.
"""

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

SHARE = 0.1


class Config(Strict):
    bound_share: float = Field(
        SHARE, ge=0, le=1, description="c: lambda as a share of lambda_max; 0 is FedAvg"
    )
    lam: float | None = Field(
        None, ge=0, alias="lambda", description="weight of the rank term, instead of bound_share"
    )
    mode: Literal["server", "client"] = Field(
        "server", description="r_k acts on weights or on local rates"
    )

    @model_validator(mode="after")
    def _check_one_lambda(self) -> "Config":
        if self.lam is not None and self.bound_share != SHARE:
            raise ValueError(
                f"bound_share {self.bound_share} and lambda {self.lam} exclude each other; give one of them"
            )
        return self


def rank_term(F: Tensor) -> Tensor:
    """r, [n]: how many losses lie below F_k less how many lie above. A loss not known, NaN, ties with all."""
    return (F[:, None] - F[None, :]).sign().nan_to_num(0).sum(dim=1)


def strength(p: Tensor, config: Config) -> float | Tensor:
    """lambda for shares p, [n]. Clients without samples do not count."""
    if config.lam is not None:
        return config.lam
    p = p[p > 0]
    return config.bound_share * p.min() / max(p.numel() - 1, 1)  # of one client alone r = 0


class GIFAIR(Algorithm[Config]):
    measurements = ("loss_received",)

    def init_state(self, federation: Federation) -> State:
        """State of all clients, in client mode: p [K], and F [K] as reported last, NaN: not yet."""
        if self.config.mode == "server":
            return {}
        n = federation.samples
        return {"p": n / n.sum(), "F": torch.full_like(n, float("nan"))}

    def configure_clients(self, state: State, received: Received) -> Plan:
        if self.config.mode == "server":
            return Plan()
        p, S = state["p"], received.clients
        return Plan(lr_scale=1 + strength(p, self.config) * rank_term(state["F"])[S] / p[S])

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        p, F = reports.shares(), reports.loss_received
        if self.config.mode == "server":
            return Aggregate(weights=p + strength(p, self.config) * rank_term(F)), state
        return Aggregate(weights=p), put(state, reports.clients, F=F)
