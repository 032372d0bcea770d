"""Ditto. Li, Hu, Beirami, Smith, Ditto: Fair and Robust Federated Learning Through Personalization, ICML 2021.

    global      x* = argmin_x sum_k p_k F_k(x)                      FedAvg, whatever lambda is
    personal    v_k = argmin_v F_k(v) + (lambda/2) ||v - x*||^2     one model per client, never sent

In every local step both models take the same batch, and x is the received model, frozen for the round:

    y   <- y   - eta grad F_k(y)                         y starts at x
    v_k <- v_k - eta (grad F_k(v_k) + lambda (v_k - x))  v_k starts where it stood, at first at the initial model
    x   <- x - sum_k p_k D_k                             D_k = x - y; clients that are not drawn keep v_k

`report` says which models count. The global one does not depend on the personal ones, so with `global` these are not
trained at all, and the run is FedAvg.
"""

from typing import Literal

import torch
from pydantic import Field

from fairfl.algorithms.interface import (
    Aggregate,
    Algorithm,
    EvaluationModels,
    Federation,
    Plan,
    Received,
    Reports,
    State,
    put,
)
from fairfl.algorithms.shared.proximal import refuse_divergence
from fairfl.experiments.base import Strict
from fairfl.experiments.hyperparameters import Weighting


class Config(Strict):
    lam: float = Field(
        1.0, ge=0, alias="lambda", description="pull of v_k towards x; 0 is local training"
    )
    report: Literal["personal", "global"] = Field(
        description="models that clients are evaluated with"
    )
    weighting: Weighting = "size"


class Ditto(Algorithm[Config]):
    # A memory of one update for each client; noise on v_k, which no client sends.
    incompatible_modifiers = ("fedvarp", "dp.target=update")

    def traffic(self, federation: Federation) -> tuple[int, int]:
        """The global model down and up."""
        return federation.x.numel(), federation.x.numel()

    def init_state(self, federation: Federation) -> State:
        """v [K, P + B], if these are evaluated."""
        v = federation.x.repeat(federation.clients, 1)
        return {"v": v} if self.config.report == "personal" else {}

    def configure_clients(self, state: State, received: Received) -> Plan:
        """Raises OptionError if the pull alone makes v_k diverge."""
        if self.config.report == "global":
            return Plan()
        refuse_divergence("ditto", "lambda", self.config.lam, received.learning_rate)
        v = state["v"][received.clients]
        prox = torch.tensor([0.0, self.config.lam], dtype=torch.float64)
        return Plan(start=torch.stack([received.x.expand_as(v), v]), prox=prox)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        p = reports.shares(self.config.weighting)
        if self.config.report == "global":
            return Aggregate(weights=p), state
        weights = torch.stack([p, torch.zeros_like(p)])
        return Aggregate(weights), put(state, reports.clients, v=reports.trained[1])

    def evaluation_models(self, state: State, x: torch.Tensor) -> EvaluationModels:
        return EvaluationModels(state["v"] if self.config.report == "personal" else x[None])
