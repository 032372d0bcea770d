"""FOCUS. Chu et al., FOCUS: Fairness via Agent-Awareness in Federated Learning on Heterogeneous Data, Algorithm 1.

    w_c = argmin_w  sum_k pi_kc F_k(w)         eq. (3): clusters c = 1 ... M of clients k, one model w_c for each
                                               (k and c are the paper's e and m)

    pi_kc <- pi_kc exp(-F_k(w_c)) / sum_c' pi_kc' exp(-F_k(w_c'))              E step, eq. (2); at first pi_kc = 1/M
    y_kc  <- y_kc - eta grad F_k(y_kc)                                         M step, (4) and (5); y_kc starts at w_c
    w_c   <- sum_k pi_kc y_kc / sum_k pi_kc = w_c - sum_k pi_kc D_kc / sum_k pi_kc         eq. (6), with the new pi_kc

    client k predicts with the probabilities sum_c pi_kc softmax(h_{w_c})      section 3.2, Inference

F_k(w_c) is the mean training loss at the start of the round. It gathers evidence over the rounds, log pi_kc is a
constant minus the sum of all F_k(w_c), so logarithms are kept. First models differ: equal ones would stay equal.

The paper writes (5) with the sum of the sample losses; at its rates that diverges, so the mean is meant. Eq. (6) has no
n_k: `size` puts them beside pi_kc. Clients that are not drawn keep their pi and do not count in (6); nor do clients
that send a NaN or an infinity of any of the M models, as in all algorithms.
"""

from math import log
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
from fairfl.experiments.base import Strict


class Config(Strict):
    M: int = Field(ge=1, description="number of cluster models; 1 is FedAvg")
    weighting: Literal["uniform", "size"] = Field(
        "uniform", description="server weights pi_kc (eq. 6), or n_k pi_kc"
    )


def memberships(logpi: Tensor, F: Tensor) -> Tensor:
    """Eq. (2): log pi [m, M] before and losses F_k(w_c) [M, m] in nats -> log pi [m, M]."""
    return (logpi - F.T).log_softmax(dim=1)


def server_weights(pi: Tensor, n: Tensor) -> Tensor:
    """Eq. (6): pi [m, M] and n [m] -> weights [M, m], each row of sum 1; 0 where no client is a member: w_c stays."""
    w = (pi * n[:, None]).T
    empty = pi.sum(dim=0) < 1e-8
    return torch.where(empty[:, None], 0.0, w / w.sum(dim=1, keepdim=True))


class Focus(Algorithm[Config]):
    measurements = ("loss_received",)
    incompatible_modifiers = ("fedvarp",)  # its memory is of one update for each client

    def server_models(self) -> int:
        return self.config.M

    def init_state(self, federation: Federation) -> State:
        """log pi, [K, M]."""
        K, M = federation.clients, self.config.M
        return {"logpi": federation.samples.new_full((K, M), -log(M))}

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        logpi = memberships(state["logpi"][reports.clients], reports.loss_received)
        w = server_weights(logpi.exp(), reports.factors(self.config.weighting))
        return Aggregate(weights=w), put(state, reports.clients, logpi=logpi)

    def evaluation_models(self, state: State, x: Tensor) -> EvaluationModels:
        return EvaluationModels(x, mixture=state["logpi"].exp())
