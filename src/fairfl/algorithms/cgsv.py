"""CGSV. Xu et al., Gradient Driven Rewards to Guarantee Fairness in Collaborative Machine Learning, NeurIPS 2021.

Every client owns a model w_k. Its reward is a part of the common update U, the larger the more it contributes; phi_k
stands for its cosine gradient Shapley value. As in the released code:

    y_k   <- y_k - eta grad F_k(y_k)                    y_k starts at w_k and is used for d_k only
    u_k    = Gamma d_k / (||d_k|| + 1e-7)               d_k = y_k - w_k = -D_k
    U      = sum_k r_k u_k                              r_k = n_k / N as long as k took no part
    phi_k  = cos(u_k, U)
    r_k   <- a r_k + (1 - a) phi_k                      here with r_k = 0 as long as k took no part
    r_k   <- max(r_k, floor), divided by their sum
    q_k    = tanh(beta r_k) / max_j tanh(beta r_j)
    w_k   <- w_k + mask(U, q_k)                         keeps the ceil(q_k D_l) entries of U of largest magnitude in
                                                        each parameter tensor of D_l, and those equal to the last one
    x     <- x + U                                      to be watched only, no client is evaluated with it

With `top_up`, w_k <- y_k + mask(U, q_k): a client keeps its own update, too. The released code has that line commented
out; the code of RFFL, by the same authors, adds d_k, at most Gamma long, and the reward.

All of this is about parameters; buffers of w_k are y_k's. `official_topk` keeps at most D_l - 1 entries, none of
a tensor of one, as the released code (which fails there). In a round with some of the clients, sums and r_k are over
them: they keep the total importance that they had, and models and importances of the others stay.

Tables run: FOCUS with top_up = true.
"""

from math import inf, prod

import torch
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
from fairfl.algorithms.shared.span import gram
from fairfl.experiments.base import Strict


class Config(Strict):
    gamma: float = Field(
        gt=0, alias="Gamma", description="length of every u_k; the paper has one for each data set"
    )
    beta: float = Field(1.0, gt=0, description="altruism: large beta gives everybody all of U")
    a: float = Field(0.95, ge=0, lt=1, description="weight of the past in the importances r_k")
    floor: float = Field(
        1e-3, gt=0, lt=1, description="smallest importance before they are divided by their sum"
    )
    top_up: bool = Field(
        False, description="a client keeps its own update: the reward is added to y_k, not to w_k"
    )
    official_topk: bool = Field(
        False, description="never reward the smallest entry of a tensor, as the released code"
    )


def contributions(Q: Tensor, r: Tensor) -> Tensor:
    """phi_k = cos(u_k, U), [m], from the inner products Q [m, m] of the u_k and the importances r [m]."""
    lengths = Q.diagonal().sqrt() * (r @ Q @ r).clamp(min=0).sqrt()  # ||u_k|| ||U||
    return Q @ r / lengths.clamp(min=1e-10)


def importances(r: Tensor, phi: Tensor, config: Config) -> Tensor:
    """The next r [m], of sum 1."""
    r = (config.a * r + (1 - config.a) * phi).clamp(min=config.floor)
    return r / r.sum()


def shares(r: Tensor, config: Config) -> Tensor:
    """q [m], 1 for the most important client."""
    altruism = torch.tanh(config.beta * r)
    return altruism / altruism.max()


def rewards(U: Tensor, q: Tensor, sizes: list[int], config: Config) -> Tensor:
    """mask(U, q_k), [m, P], for U [P], made of tensors of `sizes` entries, and q [m]."""
    masked = []
    for U_l in U.split(sizes):
        entries = (q * len(U_l)).ceil().long().clamp(max=len(U_l) - config.official_topk)
        magnitude = U_l.abs()
        falling = torch.cat([magnitude.new_tensor([inf]), magnitude.sort(descending=True).values])
        masked.append(torch.where(magnitude >= falling[entries][:, None], U_l, 0))
    return torch.cat(masked, dim=1)


class CGSV(Algorithm[Config]):
    """By design not `equal_clients`: a step has the length Gamma.
    By design not `weights_sum_to_one`: weights are divided by the lengths of the updates.
    """

    incompatible_modifiers = ("server_momentum", "fedvarp")  # no server model steps by G

    def init_state(self, federation: Federation) -> State:
        """Models w [K, P + B], importances r [K], who took part [K], entries of each parameter tensor."""
        n, x = federation.samples, federation.x
        return {
            "w": x.repeat(len(n), 1),
            "r": n / n.sum(),
            "known": torch.zeros_like(n, dtype=torch.bool),
            "sizes": torch.tensor([prod(shape) for shape in federation.shapes], device=x.device),
        }

    def configure_clients(self, state: State, received: Received) -> Plan:
        return Plan(start=state["w"][received.clients])

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        S, D, P, config = reports.clients, reports.delta, reports.delta.shape[-1], self.config
        total = state["r"][S].sum()
        r = state["r"][S] / total
        DD = gram(D).to(D.device)
        length = config.gamma / (DD.diagonal().sqrt() + 1e-7)
        U = -((r * length).to(D.dtype) @ D)  # u_k = -length_k D_k
        phi = contributions(length[:, None] * DD * length, r)
        r_next = importances(torch.where(state["known"][S], r, 0.0), phi, config)
        reward = rewards(U, shares(r_next, config), state["sizes"].tolist(), config)
        y = reports.trained if config.top_up else reports.start
        w = torch.cat([y[:, :P] + reward, reports.trained[:, P:]], dim=1)
        true = torch.ones_like(S, dtype=torch.bool)
        return Aggregate(weights=r * length), put(state, S, w=w, r=r_next * total, known=true)

    def evaluation_models(self, state: State, x: Tensor) -> EvaluationModels:
        return EvaluationModels(state["w"])
