"""FedMA. Wang et al., Federated Learning with Matched Averaging, ICLR 2020, Algorithm 1, fully connected layers.

A round has H + 1 exchanges, H hidden layers, c = 0, ..., H:

    clients    c = 0: train, from their own first net, later from their own neurons of the global net
               c > 0: train the layers above c for `retrain_epochs`, layers 1, ..., c frozen
    server     c < H: match layer c + 1 of all clients, rows [incoming weights, bias] (shared/matching.py,
                      s = 1 / sigma2, mu = 0.1 for biases, 0 for weights); its global neurons G / S replace theirs;
                      weights that leave a neuron leave its global neuron now, weights of all other global neurons are 0
               c = H: output layer = sum_k (n_kd / n_d) of client k, for class d;  1 / m where no client has the class

so the incoming weights of layer c + 1 are already in the order of the global neurons of layer c. The global net of the
last exchange is what everybody is evaluated with. G / S shrinks to the prior: one client alone, of weights w, is left
with w / 2. A client whose report of an exchange is lost is left out of the rest of the round; it begins the next one as
it began this one, as do clients that are not drawn. First nets have weights from N(0, 0.1^2) and biases 0.1.

`gamma`, `sigma2`, `sigma0` and `sweeps` are those of the public code (IBM/FedMA), which in layers above the first puts
the prior mean 0.1 on the first weight instead of the bias, a slip that is not repeated here. It trains with momentum
0.9, which no other algorithm that FOCUS compares with has. Nets of all widths are flat vectors of one size
(shared/wide_mlp.py).
"""

from typing import Any

import numpy as np
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
from fairfl.algorithms.shared import wide_mlp
from fairfl.algorithms.shared.matching import Prior, match
from fairfl.experiments.base import Strict
from fairfl.experiments.hyperparameters import MaxWidth, NeuronVariance, PriorVariance, ProcessMass


class Config(Strict):
    gamma: ProcessMass = 7.0
    sigma2: NeuronVariance = 1.0
    sigma0: PriorVariance = 1.0
    sweeps: int = Field(5, ge=0, description="times that every client is matched again")
    retrain_epochs: int = Field(
        10, ge=0, description="local epochs after each matched layer; FOCUS's local_epochs"
    )
    momentum: float = Field(0.0, ge=0, lt=1, description="of local SGD; 0.9 in the public code")
    max_width: MaxWidth = 700


def match_layer(
    nets: Tensor, c: int, wide: list[int], width: int, config: Config, draw: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Nets [m, P] with the global neurons as layer c + 1, and what its neurons became, [m, width]."""
    nets = nets.clone()
    # Views: to write to them changes nets.
    (weight, bias), (weight_above, _) = wide_mlp.layers(nets, wide)[c : c + 2]
    both = torch.cat([weight[:, :width], bias[:, :width, None]], dim=2)
    rows = both.double().cpu().numpy()  # [m, width, in + 1]
    mu = np.zeros(rows.shape[2])
    mu[-1] = wide_mlp.BIAS
    s = np.full((len(rows), rows.shape[2]), 1 / config.sigma2)
    prior = Prior(mu, config.sigma0, config.gamma, config.max_width)
    assignments, merged = match(rows, s, prior, config.sweeps, draw)
    layer = torch.from_numpy(merged).to(nets)
    neurons = torch.from_numpy(np.stack(assignments)).to(nets.device)
    weight[:, : len(layer)], bias[:, : len(layer)] = layer[:, :-1], layer[:, -1]
    weight_above.copy_(wide_mlp.move_inputs(weight_above, neurons))
    return nets, neurons


def average_outputs(nets: Tensor, labels: Tensor, wide: list[int]) -> Tensor:
    """The global net [P]: the hidden layers that nets [m, P] have in common, and the average of their output layers.

    `labels` [m, C] are n_kd.
    """
    model = nets[0].clone()
    shares = wide_mlp.class_shares(labels, otherwise=1 / len(nets))
    for average, parts in zip(
        wide_mlp.layers(model, wide)[-1], wide_mlp.layers(nets, wide)[-1], strict=True
    ):
        average.copy_(torch.einsum("kd,kd...->d...", shares, parts.double()))
    return model


class FedMA(Algorithm[Config]):
    incompatible_modifiers = ("server_momentum", "fedvarp")  # no server model steps by G

    def architecture(self, model: dict[str, Any], clients: int) -> dict[str, Any]:
        return wide_mlp.widened("fedma", model, clients, self.config.max_width)

    def exchanges_per_round(self, federation: Federation) -> int:
        """H + 1: a layer is a weight and a bias."""
        return len(federation.shapes) // 2

    def init_state(self, federation: Federation) -> State:
        """`first` [K, P]: nets that clients begin a round with, compact. `nets` [K, P]: nets that they train in it.

        `neurons_<c>` [K, L_c]: global neurons that neurons of layer c + 1 became; `reported` [K]: in how many exchanges
        of the round, without a gap. `labels` [K, C]; `wide` and `narrow`: units of each layer, of all and of a client.
        """
        wide, narrow = wide_mlp.units("fedma", federation)
        first = wide_mlp.drawn(federation.clients, wide, narrow, federation.x, federation.seed)
        state = {
            "first": first,
            "nets": first,
            "reported": torch.zeros(federation.clients, dtype=torch.int64, device=first.device),
            "labels": federation.labels.to(first.device),
            "wide": torch.tensor(wide),
            "narrow": torch.tensor(narrow),
        }
        for c, width in enumerate(narrow[1:-1]):
            own = torch.arange(width, device=first.device)
            state[f"neurons_{c}"] = own.repeat(federation.clients, 1)
        return state

    def configure_clients(self, state: State, received: Received) -> Plan:
        c, S, momentum = received.exchange, received.clients, self.config.momentum
        if c == 0:
            return Plan(start=state["first"][S], momentum=momentum)
        return Plan(
            start=state["nets"][S],
            frozen=2 * c,
            epochs=self.config.retrain_epochs,
            momentum=momentum,
        )

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        c, wide, narrow = reports.exchange, state["wide"].tolist(), state["narrow"].tolist()
        H = len(wide) - 2
        reported = state["reported"] if c > 0 else torch.zeros_like(state["reported"])
        present = reported[reports.clients] == c
        S, nets = reports.clients[present], reports.trained[present]
        state = {**state, "reported": reported.index_fill(0, S, c + 1)}
        if not len(S):
            return Aggregate(), state
        if c < H:
            draw = np.random.default_rng(reports.seed)
            nets, neurons = match_layer(nets, c, wide, narrow[c + 1], self.config, draw)
            return Aggregate(), put(state, S, nets=nets, **{f"neurons_{c}": neurons})
        model = average_outputs(nets, state["labels"][S], wide)
        first = wide_mlp.extract(model, [state[f"neurons_{c}"][S] for c in range(H)], wide, narrow)
        return Aggregate(model=model), put(state, S, first=first)
