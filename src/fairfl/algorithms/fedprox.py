"""FedProx. Li et al., Federated Optimization in Heterogeneous Networks, MLSys 2020, Algorithm 2.

    min_x  sum_k p_k F_k(x),    client k:  min_y  F_k(y) + (mu/2) ||y - x||^2        eq. (2)

    y <- y - eta (grad F_k(y) + mu (y - x))        y starts at x, which is the received model for the whole round
    x <- x - sum_k p_k D_k

with p_k = n_k / sum_j n_j over the clients of the round, or p_k = 1/m. The first local step does not feel mu.
"""

from pydantic import Field

from fairfl.algorithms.interface import Aggregate, Algorithm, Plan, Received, Reports, State
from fairfl.algorithms.shared.proximal import refuse_divergence
from fairfl.experiments.base import Strict
from fairfl.experiments.hyperparameters import Weighting


class Config(Strict):
    mu: float = Field(0.1, ge=0, description="pull of local models towards x; 0 is FedAvg")
    weighting: Weighting = "size"


class FedProx(Algorithm[Config]):
    def configure_clients(self, state: State, received: Received) -> Plan:
        """Raises OptionError if the pull alone makes local training diverge."""
        refuse_divergence("fedprox", "mu", self.config.mu, received.learning_rate)
        return Plan(prox=self.config.mu)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        return Aggregate(weights=reports.shares(self.config.weighting)), state
