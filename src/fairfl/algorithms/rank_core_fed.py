"""Rank-Core-Fed. RECONSTRUCTED from the abstract of Ray Chaudhury et al., Fair Federated Learning via the Proportional
Veto Core, ICML 2024.

The paper judges a model by its rank among all models, client by client, and trains one that is in the proportional veto
core: no coalition T and set of models B, with |T|/K + |B|/J > 1, such that all of T rank all of B above it. How it
trains could not be read; neither code nor settings are known. What is kept here is that a model of the core is chosen:

    1  clients train as in FedAvg:  D_k
    2  J candidates  x - sum_k lam_k D_k  with lam  p_k = n_k / sum_j n_j (FedAvg), the weights of CoreFed,
       J - 3 draws from Dirichlet(1, ..., 1) over the clients of the round, and 0: the old x
    3  each client ranks them by its training loss
    4  x <- the winner of veto by consumption (shared/veto_core.py), one of the core of the clients of the round

J = 1 is FedAvg, J = 2 leaves out CoreFed. A NaN or infinite loss is the worst. Buffers of a candidate are the mean of
the trained clients' by n_k, as everywhere; those of the old x stay with it. A client receives x and the other J - 1
candidates.
"""

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import (
    Aggregate,
    Algorithm,
    Federation,
    Plan,
    Received,
    Reports,
    State,
)
from fairfl.algorithms.shared.core_stability import core_weights, utility_bound
from fairfl.algorithms.shared.veto_core import elected
from fairfl.experiments.base import Strict


class Config(Strict):
    J: int = Field(16, ge=1, description="candidates; 1 is FedAvg")
    M: float = Field(
        5.0, gt=0, description="loss at which the utility in CoreFed's weights is 0, nats"
    )
    epsilon: float = Field(0.2, gt=0, description="smallest utility in CoreFed's weights, nats")


def combinations(reports: Reports, M: Tensor, config: Config) -> Tensor:
    """lam of the new candidates, [J - 1, m], rows of sum 1."""
    n = reports.samples
    core = core_weights(M, reports.loss_received, torch.ones_like(n), config.epsilon)
    draw = torch.Generator().manual_seed(reports.seed)
    gamma = torch.empty(len(n), max(config.J - 3, 0), dtype=n.dtype).exponential_(generator=draw)
    # Draws belong to clients, in whatever order they report.
    gamma = gamma[reports.clients.cpu().argsort().argsort()].to(n.device).T
    dirichlet = gamma / gamma.sum(1, keepdim=True)
    return torch.cat([torch.stack([reports.shares(), core]), dirichlet])[: config.J - 1]


def candidates(reports: Reports, lam: Tensor) -> Tensor:
    """x - sum_k lam_k D_k with the mean buffers of the clients, and the old x, [J, P + B]; lam [J - 1, m]."""
    x, P = reports.x, reports.delta.shape[-1]
    new = x[:P] - lam.to(x.dtype) @ reports.delta
    if reports.buffers is not None:
        buffers = reports.shares().to(x.dtype) @ reports.buffers
        new = torch.cat([new, buffers.expand(len(new), -1)], dim=1)
    return torch.cat([new, x[None]])


class RankCoreFed(Algorithm[Config]):
    """By design not `weights_sum_to_one`: a vote chooses the next model.
    By design not `constant_loss`: one candidate has the weights of core_fed.
    """

    measurements = ("loss_received", "loss_after")
    is_reconstructed = True
    incompatible_modifiers = ("server_momentum", "fedvarp")

    def required_measurements(self) -> tuple[str, ...]:
        return () if self.config.J == 1 else self.measurements

    def exchanges_per_round(self, federation: Federation) -> int:
        """Training, then the vote."""
        return 1 if self.config.J == 1 else 2

    def traffic(self, federation: Federation) -> tuple[int, int]:
        """Numbers down: J models; up: one."""
        return self.config.J * federation.x.numel(), federation.x.numel()

    def init_state(self, federation: Federation) -> State:
        """M of CoreFed, []; 0 as long as it is not known. Between training and vote also the candidates [J, P + B]."""
        return {"M": federation.samples.new_zeros(())}

    def configure_clients(self, state: State, received: Received) -> Plan:
        if received.exchange == 0:
            return Plan()
        start = state["candidates"].unsqueeze(1).expand(-1, len(received.clients), -1)
        return Plan(start=start, epochs=0)  # measured, not trained

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        if self.config.J == 1:
            return Aggregate(weights=reports.shares()), state
        if reports.exchange == 0:
            M = utility_bound(state["M"], reports.loss_received, self.config.M)
            lam = combinations(reports, M, self.config)
            return Aggregate(), {"M": M, "candidates": candidates(reports, lam)}
        winner = state["candidates"][elected(reports.loss_after.T)]
        # A view would keep all of them, in checkpoints too.
        return Aggregate(model=winner.clone()), {"M": state["M"]}
