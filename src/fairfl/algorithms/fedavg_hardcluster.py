"""FedAvg-HardCluster. Chu et al., FOCUS: Fairness via Agent-Awareness in Federated Learning on Heterogeneous Data, D.8.

    z_k  = argmax_c pi_kc                                     step 1; pi as a FOCUS run left them, lowest c on ties
    y_k <- y_k - eta grad F_k(y_k)                            step 2; y_k starts at w_{z_k}, the models are new
    w_c <- sum_{k: z_k = c} n_k y_k / sum_{k: z_k = c} n_k    FedAvg in each cluster; D_k = w_{z_k} - y_k
    client k predicts with w_{z_k} alone                      step 3

A model stays as it is in a round without members. Each client trains the model of its cluster only, so this costs what
one FedAvg costs.
"""

from pydantic import Field
from torch import Tensor
from torch.nn.functional import one_hot

from fairfl.algorithms.interface import (
    Aggregate,
    Algorithm,
    EvaluationModels,
    Federation,
    Plan,
    Received,
    Reports,
    State,
)
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import FairflError


class Config(Strict):
    M: int = Field(ge=1, description="number of cluster models, as in the FOCUS run; 1 is FedAvg")


class HardCluster(Algorithm[Config]):
    depends_on = ("focus", ("M",))
    incompatible_modifiers = ("fedvarp",)  # its memory is of one update for each client

    def server_models(self) -> int:
        return self.config.M

    def traffic(self, federation: Federation) -> tuple[int, int]:
        """The model of the client's cluster, both ways."""
        return federation.x.shape[-1], federation.x.shape[-1]

    def init_state(self, federation: Federation) -> State:
        """z, [K]. Raises FairflError without the memberships of a FOCUS run of M models."""
        pi, shape = federation.memberships, [federation.clients, self.config.M]
        if pi is None or list(pi.shape) != shape:
            there = "there are none" if pi is None else f"they are {list(pi.shape)}"
            raise FairflError(
                f"fedavg_hardcluster: needs the memberships {shape} of a focus run, but {there}"
            )
        return {"z": pi.argmax(dim=1)}

    def configure_clients(self, state: State, received: Received) -> Plan:
        return Plan(start=received.x[state["z"][received.clients]])

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        # n_k of the members of each cluster, [M, m]
        n = one_hot(state["z"][reports.clients], self.config.M).T * reports.samples
        return Aggregate(weights=n / n.sum(dim=1, keepdim=True).clamp(min=1)), state

    def evaluation_models(self, state: State, x: Tensor) -> EvaluationModels:
        return EvaluationModels(x, mixture=one_hot(state["z"], self.config.M).double())
