"""FedDisco. Ye et al., FedDisco: Federated Learning with Discrepancy-Aware Collaboration, ICML 2023.

    q_k = shares of the classes in the training samples of client k,    u = shares that the model is meant for
    d_k = discrepancy of q_k and u:
              kl       sum_c q_kc log(q_kc / u_c), divided by its sum over the clients of the round
              l1, l2   ||q_k - u||_1, ||q_k - u||_2
              cosine   1 - <q_k, u> / (||q_k|| ||u||)
    w_k = max(p_k - a d_k + b, 0),  divided by their sum;    p_k = n_k / sum_j n_j over the clients of the round

as in the public code (MediaBrain-SJTU/FedDisco), where u is uniform. Where no p_k - a d_k + b is above 0, which that
code cannot do with, w_k = p_k.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Reports, State
from fairfl.algorithms.shared.class_counts import class_counts
from fairfl.experiments.base import Strict


class Config(Strict):
    a: float = Field(0.5, ge=0, description="how much the discrepancy costs")
    b: float = Field(0.1, ge=0, description="added to all weights before they are cut off at 0")
    metric: Literal["kl", "l1", "l2", "cosine"] = "kl"
    target: Literal["uniform", "pooled"] = Field(
        "uniform",
        description="u: all classes alike (public code), or the training samples of all clients together",
    )


def discrepancies(counts: Tensor, u: Tensor, metric: str) -> Tensor:
    """d [K] of the class counts [K, C] from the shares u [C]; kl in nats, not yet divided."""
    q = counts / counts.sum(1, keepdim=True).clamp(min=1)
    if metric == "kl":
        divergence = torch.xlogy(q, q) - torch.xlogy(q, u)
        return divergence.sum(1).clamp(min=0)  # below 0 by rounding only
    if metric == "cosine":
        return 1 - q @ u / (q.norm(dim=1) * u.norm()).clamp(min=1e-300)
    return (q - u).norm(p=int(metric[1]), dim=1)


class FedDisco(Algorithm[Config]):
    def init_state(self, federation: Federation) -> State:
        """d, [K]. Raises FairflError if the samples have no class."""
        counts = class_counts("feddisco", federation)
        u = counts.sum(0) if self.config.target == "pooled" else torch.ones_like(counts[0])
        return {"d": discrepancies(counts, u / u.sum(), self.config.metric)}

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        p, d = reports.shares(), state["d"][reports.clients]
        if self.config.metric == "kl":
            d = d / d.sum().clamp(min=1e-300)
        w = (p - self.config.a * d + self.config.b).clamp(min=0)
        w = torch.where(w.sum() > 0, w, p)
        return Aggregate(weights=w / w.sum()), state
