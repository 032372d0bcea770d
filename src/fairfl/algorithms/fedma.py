"""FedMA. Wang et al., Federated Learning with Matched Averaging, ICLR 2020, Algorithm 1, fully connected layers.

A round has H + 1 exchanges, H hidden layers, c = 0, ..., H:

    clients    c = 0: train, from their own first net, later from their own neurons of the global net
               c > 0: train the layers above c for `retrain_epochs`, layers 1, ..., c frozen
    server     c < H: match layer c + 1 of all clients, rows [incoming weights, bias] (shared/matching.py,
                      s = 1 / sigma2, mu = 0.1 for biases, 0 for weights); its global neurons G / S replace theirs;
                      weights that leave a neuron leave its global neuron now, those of all other global neurons are 0
               c = H: output layer = sum_k (n_kd / n_d) of client k, for class d;  1 / m where nobody has the class

so the incoming weights of layer c + 1 are already in the order of the global neurons of layer c. The global net of the
last exchange is what everybody is evaluated with. G / S shrinks to the prior: one client alone, of weights w, is left
with w / 2. A client whose report of an exchange is lost is left out of the rest of the round; it begins the next one as
it began this one, as do clients that are not drawn. First nets have weights from N(0, 0.1^2) and biases 0.1.

`gamma`, `sigma2`, `sigma0` and `sweeps` are those of the public code (IBM/FedMA), which in layers above the first puts
the prior mean 0.1 on the first weight instead of the bias, a slip that is not repeated here. It trains with momentum
0.9, which no other algorithm that FOCUS compares with has.
"""

from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Plan, Received, Reports, State
from fairfl.algorithms.shared import wide_mlp
from fairfl.algorithms.shared.matching import Prior, match
from fairfl.experiments.base import Strict


class Config(Strict):
    gamma: float = Field(7.0, gt=0, description="mass of the Beta process; more means more global neurons")
    sigma2: float = Field(1.0, gt=0, description="variance of clients' neurons around the global one")
    sigma0: float = Field(1.0, gt=0, description="prior variance of a global neuron")
    sweeps: int = Field(5, ge=0, description="times that every client is matched again")
    retrain_epochs: int = Field(10, ge=0, description="local epochs after each matched layer; FOCUS's local_epochs")
    momentum: float = Field(0.0, ge=0, lt=1, description="of local SGD; 0.9 in the public code")
    max_width: int = Field(700, gt=0, description="global neurons of a layer at most; the public code stops at 700")


def matched(state: State, nets: Tensor, c: int, config: Config, draw: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Nets [m, P] with layer c + 1 matched, and the global neurons [m, L] that its neurons became."""
    wide, L = state["wide"].tolist(), int(state["narrow"][c + 1])
    nets = nets.clone()
    (weight, bias), (above, _) = wide_mlp.layers(nets, wide)[c : c + 2]
    rows = torch.cat([weight[:, :L], bias[:, :L, None]], dim=2).double().cpu().numpy()
    mean = np.zeros(rows.shape[2])
    mean[-1] = wide_mlp.BIAS
    precisions = np.full((len(rows), rows.shape[2]), 1 / config.sigma2)
    prior = Prior(mean, config.sigma0, config.gamma, config.max_width)
    assignments, merged = match(rows, precisions, prior, config.sweeps, draw)
    layer = torch.from_numpy(merged).to(nets)
    weight[:, : len(layer)], bias[:, : len(layer)] = layer[:, :-1], layer[:, -1]
    neurons = torch.from_numpy(np.stack(assignments)).to(nets.device)
    above.copy_(torch.zeros_like(above).scatter_(2, neurons[:, None].expand(-1, above.shape[1], -1), above[:, :, :L]))
    return nets, neurons


def averaged(state: State, nets: Tensor, clients: Tensor) -> Tensor:
    """The global net [P]: the hidden layers that nets [m, P] have in common, and the average of their output layers."""
    model, wide = nets[0].clone(), state["wide"].tolist()
    shares = wide_mlp.class_shares(state["labels"][clients], otherwise=1 / len(clients))
    for whole, parts in zip(wide_mlp.layers(model, wide)[-1], wide_mlp.layers(nets, wide)[-1], strict=True):
        whole.copy_(torch.einsum("kd,kd...->d...", shares, parts.double()))
    return model


def own_parts(state: State, model: Tensor, clients: Tensor) -> Tensor:
    """Each client's own neurons of the global net, [m, P], compact."""
    wide, narrow = state["wide"].tolist(), state["narrow"].tolist()
    inputs, outputs = (torch.arange(n, device=model.device).repeat(len(clients), 1) for n in (wide[0], wide[-1]))
    units = [inputs, *(state[f"neurons_{c}"][clients] for c in range(len(wide) - 2)), outputs]
    own = model.new_zeros(len(clients), len(model))
    both = zip(wide_mlp.compact(own, wide, narrow), wide_mlp.layers(model, wide), strict=True)
    for ((weight, bias), (global_weight, global_bias)), below, here in zip(both, units[:-1], units[1:], strict=True):
        weight.copy_(global_weight[here[:, :, None], below[:, None]])
        bias.copy_(global_bias[here])
    return own


class FedMA(Algorithm[Config]):
    incompatible_modifiers = ("server_momentum", "fedvarp")  # no server model steps by G

    def architecture(self, model: dict[str, Any], clients: int) -> dict[str, Any]:
        return wide_mlp.widened("fedma", model, clients, self.config.max_width)

    def exchanges_per_round(self, federation: Federation) -> int:
        return len(federation.shapes) // 2

    def init_state(self, federation: Federation) -> State:
        """`own` [K, P]: nets that clients begin a round with, compact. `nets` [K, P]: those that they train in it.

        `neurons_<c>` [K, L_c]: global neurons that neurons of layer c + 1 became; `done` [K]: exchanges of the round.
        """
        wide, narrow = wide_mlp.units("fedma", federation)
        own = wide_mlp.drawn(federation.clients, wide, narrow, federation.x, federation.seed)
        state = {
            "own": own,
            "nets": own,
            "done": torch.zeros(federation.clients, dtype=torch.int64, device=own.device),
            "labels": federation.labels.to(own.device),
            "wide": torch.tensor(wide),
            "narrow": torch.tensor(narrow),
        }
        for c, width in enumerate(narrow[1:-1]):
            state[f"neurons_{c}"] = torch.arange(width, device=own.device).repeat(federation.clients, 1)
        return state

    def configure_clients(self, state: State, received: Received) -> Plan:
        c = received.exchange
        if c == 0:
            return Plan(start=state["own"][received.clients], momentum=self.config.momentum)
        start = state["nets"][received.clients]
        return Plan(start=start, frozen=2 * c, epochs=self.config.retrain_epochs, momentum=self.config.momentum)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        c = reports.exchange
        done = state["done"] if c > 0 else torch.zeros_like(state["done"])
        present = done[reports.clients] == c
        clients, nets = reports.clients[present], reports.trained[present]
        state = {**state, "done": done.index_fill(0, clients, c + 1)}
        if not len(clients):
            return Aggregate(), state
        if c < len(state["wide"]) - 2:
            nets, neurons = matched(state, nets, c, self.config, np.random.default_rng(reports.seed))
            found = {"nets": nets, f"neurons_{c}": neurons}
            return Aggregate(), state | {name: state[name].index_copy(0, clients, new) for name, new in found.items()}
        model = averaged(state, nets, clients)
        own = state["own"].index_copy(0, clients, own_parts(state, model, clients))
        return Aggregate(model=model), {**state, "own": own}
