"""PropFair. Zhang, Malekmohammadi, Chen, Yu, Proportional Fairness in Federated Learning, TMLR 2023.

    max_x  sum_k p_k log(M - F_k(x))

Clients descend phi(l) on batches of mean cross-entropy l, and the server is FedAvg, w_k = p_k:

    phi(l) = -log(1 - l/M)    phi'(l) = 1/(M - l)    where M - l >= epsilon
    phi(l) = l/M              phi'(l) = 1/M          elsewhere (public code FairFL)
    phi(l) = l/epsilon        phi'(l) = 1/epsilon    elsewhere, with `huber`

Without `huber` the slope falls from 1/epsilon to 1/M at the threshold: bad batches count for less, not for more.
"""

from functools import partial

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Algorithm, Plan, Received, Reports, State
from fairfl.experiments.base import Strict


class Config(Strict):
    M: float = Field(
        2.0, gt=0, description="loss at which the utility M - l of a client is 0, nats"
    )
    epsilon: float = Field(0.2, gt=0, description="smallest M - l whose logarithm is taken, nats")
    huber: bool = Field(False, description="go on with slope 1/epsilon below it, instead of 1/M")


def slope(loss: Tensor, config: Config) -> Tensor:
    """phi'(l): batch losses in nats, any shape -> slopes of that shape."""
    utility = config.M - loss
    outside = 1 / (config.epsilon if config.huber else config.M)
    return torch.where(utility >= config.epsilon, 1 / utility, outside)


class PropFair(Algorithm[Config]):
    def configure_clients(self, state: State, received: Received) -> Plan:
        return Plan(slope=partial(slope, config=self.config))

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        return Aggregate(weights=reports.shares()), state
