"""FedDyn. Acar, Zhao, Navarro, Mattina, Whatmough, Saligrama, Federated Learning Based on Dynamic Regularization,
ICLR 2021, Algorithm 1.

    client k:  min_y  F_k(y) - <g_k, y> + (alpha/2) ||y - x||^2                   eq. (1)

    y   <- y - eta (grad F_k(y) - g_k + alpha (y - x))       y starts at x, which is the received model
    g_k <- g_k + alpha D_k                                   k in the round; grad F_k(y) if y is the minimum
    h   <- h + (alpha/K) sum_k D_k                           the mean of all g_k
    x   <- x - (1/m) sum_k D_k - h / alpha

with g_k = h = 0 at first. Clients that are not drawn keep g_k; [K, P]. Its authors' code has an alpha of each client,
alpha_k = alpha mean(n) / n_k, and clips gradients to norm 10; their paper has neither.

The server goes on by h / alpha, the sum of all that clients have moved so far: where every local problem is solved, x
stays only where sum_k grad F_k(x) = 0. As alpha -> 0 clients train as in FedAvg, but the server does not step as there.
"""

from pydantic import Field

from fairfl.algorithms.interface import (
    Aggregate,
    Algorithm,
    Federation,
    Plan,
    Received,
    Reports,
    State,
)
from fairfl.algorithms.shared.proximal import refuse_divergence
from fairfl.experiments.base import Strict


class Config(Strict):
    alpha: float = Field(0.1, gt=0, description="weight of the dynamic regularisation, eq. (1)")


class FedDyn(Algorithm[Config]):
    """By design not `equal_clients`: the server goes on by h / alpha."""

    incompatible_modifiers = ("fedvarp",)  # h has the updates of absent clients already

    def init_state(self, federation: Federation) -> State:
        """g_k [K, P] and h [P]."""
        x = federation.x[: federation.parameters]
        return {"g_k": x.new_zeros(federation.clients, len(x)), "h": x.new_zeros(len(x))}

    def configure_clients(self, state: State, received: Received) -> Plan:
        """Raises OptionError if the pull alone makes local training diverge."""
        refuse_divergence("feddyn", "alpha", self.config.alpha, received.learning_rate)
        return Plan(direction=-state["g_k"][received.clients], prox=self.config.alpha)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        alpha, D, K = self.config.alpha, reports.delta, len(state["g_k"])
        h = state["h"] + alpha / K * D.sum(0)
        g_k = state["g_k"].index_add(0, reports.clients, D, alpha=alpha)
        return Aggregate(reports.shares("uniform"), extra=h / alpha), {"g_k": g_k, "h": h}
