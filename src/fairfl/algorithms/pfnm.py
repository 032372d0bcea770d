"""PFNM. Yurochkin et al., Bayesian Nonparametric Federated Learning of Neural Networks, ICML 2019. One matching.

    every client trains a separate net, from weights N(0, 0.1^2) and biases 0.1, in all rounds; nothing is averaged
    for hidden layers c = H, ..., 1:    rows [bias, outgoing weights], for c = 1 [incoming weights, bias, outgoing]
        outgoing weights go to the global neurons of layer c + 1, 0 to neurons that the client has no part in
        match the rows of all clients (shared/matching.py), s = 1 / sigma2; for c = H outgoing weights to
        class d have (n_kd / n_d) / sigma2, by the samples of the class
        global neurons are G / S
    output bias of class d    (sum_k s_kd b_kd + mu_d / sigma0) / (1 / sigma0 + sum_k s_kd),    s_kd as above
    prior mean mu = 0.1 for biases, 0 for weights

The global net, wider than the clients', is made from their nets as they stand whenever it is evaluated, for all clients
alike; training does not depend on it. A class that no client has keeps the prior. Clients that are not drawn keep their
net. The variant in which clients train on from what was matched is left out: FOCUS compares with the one matching.

`sigma2`, `sigma0` and `gamma` are from the authors' examples; no paper here says which were used. The authors
choose among gamma 1, 0.001, 50, sigma2 1, 0.1, 0.5 and sigma0 1, 10.
Nets of all widths are flat vectors of one size (shared/wide_mlp.py).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import (
    Aggregate,
    Algorithm,
    EvaluationModels,
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

Array = NDArray[np.float64]


class Config(Strict):
    sigma2: NeuronVariance = 1.0
    sigma0: PriorVariance = 1.0
    gamma: ProcessMass = 1.0
    sweeps: int = Field(
        5, ge=0, description="times that every client is matched again; 5 in the public code"
    )
    max_width: MaxWidth = 700


def global_net(
    nets: Sequence[tuple[Array, Array]], shares: Array, config: Config, draw: np.random.Generator
) -> list[tuple[Array, Array]]:
    """Weights [out, in] and bias [out] of each layer, from all clients' [K, out, in] and [K, out] and shares [K, C]."""
    *hidden, (weight, bias) = nets
    s_out, prior = shares / config.sigma2, 1 / config.sigma0  # s_kd of the outgoing weights, [K, C]
    biases = [((s_out * bias).sum(0) + wide_mlp.BIAS * prior) / (s_out.sum(0) + prior)]
    weights, outgoing = [], weight.swapaxes(1, 2)  # [K, L, C]
    for c in reversed(range(len(hidden))):
        weight, bias = hidden[c]
        # Of other layers they are matched below, as outgoing ones.
        incoming = weight if c == 0 else weight[:, :, :0]
        rows = np.concatenate([incoming, bias[:, :, None], outgoing], axis=2)
        K, _, D = incoming.shape
        s = np.hstack([np.full((K, D + 1), 1 / config.sigma2), s_out])
        mu = np.zeros(rows.shape[2])
        mu[D] = wide_mlp.BIAS
        neurons_of_layer = Prior(mu, config.sigma0, config.gamma, config.max_width)
        assignments, neurons = match(rows, s, neurons_of_layer, config.sweeps, draw)
        weights.append(neurons[:, D + 1 :].T)
        biases.append(neurons[:, D])
        # 0 to neurons that the client has no part in.
        outgoing = np.zeros((K, weight.shape[2], len(neurons)))
        np.put_along_axis(outgoing, np.stack(assignments)[:, None], weight.swapaxes(1, 2), axis=2)
        s_out = np.full((K, len(neurons)), 1 / config.sigma2)
    weights.append(neurons[:, :D])
    return list(zip(reversed(weights), reversed(biases), strict=True))


class PFNM(Algorithm[Config]):
    incompatible_modifiers = ("server_momentum", "fedvarp")  # no server model steps by G

    def architecture(self, model: dict[str, Any], clients: int) -> dict[str, Any]:
        return wide_mlp.widened("pfnm", model, clients, self.config.max_width)

    def init_state(self, federation: Federation) -> State:
        """`nets` [K, P] of the clients, compact; `labels` [K, C] are n_kd; what the global net is made with."""
        wide, narrow = wide_mlp.units("pfnm", federation)
        return {
            "nets": wide_mlp.drawn(federation.clients, wide, narrow, federation.x, federation.seed),
            "labels": federation.labels,
            "wide": torch.tensor(wide),
            "narrow": torch.tensor(narrow),
            "seed": torch.tensor(federation.seed),
        }

    def configure_clients(self, state: State, received: Received) -> Plan:
        return Plan(start=state["nets"][received.clients])

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        return Aggregate(), put(state, reports.clients, nets=reports.trained)

    def evaluation_models(self, state: State, x: Tensor) -> EvaluationModels:
        """The global net, in the type of x [P]."""
        wide, narrow = state["wide"].tolist(), state["narrow"].tolist()
        nets = [
            (w.numpy(), b.numpy())
            for w, b in wide_mlp.compact(state["nets"].double().cpu(), wide, narrow)
        ]
        shares = wide_mlp.class_shares(state["labels"], otherwise=0.0).cpu().numpy()
        net = global_net(nets, shares, self.config, np.random.default_rng(int(state["seed"])))
        layers = [(torch.from_numpy(weight), torch.from_numpy(bias)) for weight, bias in net]
        return EvaluationModels(wide_mlp.flatten(layers, wide, like=x).unsqueeze(0))
