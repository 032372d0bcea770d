"""SCAFFOLD. Karimireddy et al., Stochastic Controlled Averaging for Federated Learning, ICML 2020, Algorithm 1.

    y    <- y - eta (grad F_k(y) - c_k + c)        y starts at x                             line 10
    c_k' =  c_k - c + D_k / (J_k eta)              option II: the mean gradient of the round  line 12
         =  grad F_k(x)                            option I: on all samples, one more pass
    x    <- x - eta_g sum_k p_k D_k                                                          lines 16, 17
    c    <- c + sum_k pi_k (c_k' - c_k)            k in the round
    c_k  <- c_k'                                                                             line 14

with c = c_k = 0 at first. The paper has p_k = 1/m and pi_k = 1/K; with `weighting: size` they are n_k / sum_j n_j, over
the clients of the round and over all. So c = sum_k pi_k c_k at any time. Clients that are not drawn keep c_k; [K, P].
"""

from typing import Literal

import torch
from pydantic import Field

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
    option: Literal[1, 2] = Field(2, description="c_k' by line 12: 1 is I, 2 is II")
    eta_g: float = Field(1.0, gt=0, description="rate of the server")
    weighting: Literal["size", "uniform"] = Field(
        "uniform", description="p_k and pi_k by samples, or 1/m and 1/K"
    )


class Scaffold(Algorithm[Config]):
    measurements = ("gradient_full",)
    incompatible_modifiers = ("fedvarp",)  # the same correction, twice

    def required_measurements(self) -> tuple[str, ...]:
        return self.measurements if self.config.option == 1 else ()

    def traffic(self, federation: Federation) -> tuple[int, int]:
        """x and c down; x_k and, unless it is a gradient, which counts anyway, c_k' - c_k up."""
        x = federation.x.numel()
        P = federation.parameters or x
        return x + P, x + (0 if self.config.option == 1 else P)

    def init_state(self, federation: Federation) -> State:
        """c_k [K, P], c [P] and pi [K]."""
        K, x, n = federation.clients, federation.x[: federation.parameters], federation.samples
        pi = n / n.sum() if self.config.weighting == "size" else torch.full_like(n, 1 / K)
        return {"c_k": x.new_zeros(K, len(x)), "c": torch.zeros_like(x), "pi": pi.to(x)}

    def configure_clients(self, state: State, received: Received) -> Plan:
        return Plan(direction=state["c"] - state["c_k"][received.clients])

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        S, c, c_S = reports.clients, state["c"], state["c_k"][reports.clients]
        if self.config.option == 1:
            c_new = reports.gradient
        else:
            J = reports.steps.to(c)[:, None]
            c_new = torch.where(J > 0, c_S - c + reports.delta / (J * reports.learning_rate), c_S)
        weights = self.config.eta_g * reports.shares(self.config.weighting)
        c = c + state["pi"][S] @ (c_new - c_S)
        return Aggregate(weights), put(state | {"c": c}, S, c_k=c_new)
