"""EAGLE. Erraji, Perrot, Bellet, Loss Gap Parity for Fairness in Heterogeneous Federated Learning, Algorithm 1.

    r_k(x) = L_k(x) - L*_k                                            loss gap, on validation data
    min_x  (1/K) sum_k L_k(x) + lambda V({r_k(x)})                    eq. (3), V the sample variance

    w_k    = 1 + scale lambda / (K-1) sum_{j != k} (r_k - r_j)        line 8
           = 1 + scale lambda K / (K-1) (r_k - mean r)
    w     <- w / ||w||_2                                              section 3.2, "Instability"
    y     <- y - eta w_k grad L_k(y)                                  local step, line 18
    x     <- (1/K) sum_k x_k                                          line 9

The weights of a round stem from the gaps of the round before (lag 1); in the first all are equal. Instead of the local
steps w_k may scale the updates (`where: server`): x <- x - (1/K) sum_k w_k D_k, the same for one local step.

In the paper all clients take part in each round. Where only some do, w is still of all K, from the newest gap of
each; a client that has not taken part yet has the mean gap of the others. So has, in every round, a client without
validation samples. A client that has them, and whose loss or L*_k is not a finite number, has diverged: the engine
leaves it out of the round.

Tables run the defaults, at sqrt(K) times FedAvg's rate: with lambda = 0 that is FedAvg. `l2_k` gives the same steps at
FedAvg's rate; papers/eagle.yaml has the reason.
"""

from typing import Literal

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
    put,
)
from fairfl.experiments.base import Strict


class Config(Strict):
    lam: float = Field(ge=0, alias="lambda", description="weight of the gap variance, eq. (3)")
    scale: Literal[2, 4] = Field(2, description="2: line 8 and eq. (3); 4: appendix, eq. (A.9)")
    norm: Literal["l2", "l2_k", "none"] = Field(
        "l2", description="||w|| = 1; ||w|| = sqrt(K), so that lambda = 0 is FedAvg; as computed"
    )
    lag: Literal[0, 1] = Field(1, description="0: weights from the gaps of the same round")
    where: Literal["client_lr", "server"] = Field(
        "client_lr", description="w_k scales steps or updates"
    )


def gap_weights(r: Tensor, config: Config) -> Tensor:
    """Line 8 and the normalisation of section 3.2: gaps r [K] in nats -> weights w [K]."""
    K, w = r.numel(), torch.ones_like(r)
    if K > 1:
        w = 1 + config.scale * config.lam * K / (K - 1) * (r - r.mean())
    length = w.norm()
    if config.norm == "none" or length < 1e-12:
        return w
    return w / length * (K**0.5 if config.norm == "l2_k" else 1)


def fill_gaps(r: Tensor) -> Tensor:
    """Gaps [m] or [K]; a client without one, which has no validation sample or no round yet, has the others' mean."""
    return torch.where(r.isnan(), r.nanmean(), r).nan_to_num(0.0)


class Eagle(Algorithm[Config]):
    measurements = ("validation_loss_received", "local_optimum_loss")

    def init_state(self, federation: Federation) -> State:
        """r [K], the newest gap of each client, in nats; NaN before its first round."""
        return {"r": torch.full_like(federation.samples, torch.nan)}

    def _weights(self, state: State, received: Received) -> Tensor:
        """w of this round's clients, [m]."""
        if self.config.lag == 0:
            r = received.validation_loss_received - received.local_optimum_loss
            return gap_weights(fill_gaps(r), self.config)
        return gap_weights(fill_gaps(state["r"]), self.config)[received.clients]

    def configure_clients(self, state: State, received: Received) -> Plan:
        if self.config.where == "server":
            return Plan()
        return Plan(lr_scale=self._weights(state, received))

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        w = reports.shares("uniform")
        if self.config.where == "server":
            w = w * self._weights(state, reports)
        r = reports.validation_loss_received - reports.local_optimum_loss
        return Aggregate(weights=w), put(state, reports.clients, r=r)
