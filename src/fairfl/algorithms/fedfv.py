"""FedFV. Wang et al., Federated Learning with Fair Averaging, IJCAI 2021, Algorithms 1 to 3.

    min_x  sum_k p_k F_k(x),    g_k = D_k

    PO     = clients of the round by ascending F_k
    keep   = the last m - ceil((m-1)(1-alpha)) of PO, none if alpha = 0         largest losses
    h_i    = g_i;   for i not in keep:  for j in PO, j != i:                    Algorithm 2
                        if h_i . g_j < 0:  h_i <- h_i - (h_i . g_j) / ||g_j||^2 g_j
    G      = (1/m) sum_i h_i
    if t >= tau:  for age = tau, ..., 1:                                        Algorithm 3
                        c = sum of the g_k with t_k = t - age and G . g_k < 0
                        if G . c < 0:  G <- G - (G . c) / ||c||^2 c
    G     <- G / ||G|| * ||(1/m) sum_k g_k||
    x     <- x - G

with g_k of absent clients their latest update and t_k its round. Every vector is a combination of the round's
updates and of former ones, so all steps work on coefficients and inner products.
"""

from math import ceil
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Reports, State, gram
from fairfl.experiments.base import Strict


class Config(Strict):
    alpha: float = Field(0.1, ge=0, le=1, description="share of clients, of largest loss, that keep their update")
    tau: int = Field(1, ge=0, description="rounds for which absent clients are remembered; 0: internal conflicts only")
    order: Literal["loss", "random", "reverse"] = Field(
        "loss", description="projection order PO: ascending loss, shuffled in every round, descending loss (table 4)"
    )


def projection_order(reports: Reports, config: Config) -> list[int]:
    """PO: positions in the round, first target first. Ties: smaller client id first."""
    by_id = reports.clients.cpu().argsort()
    if config.order == "random":
        draw = torch.randperm(len(by_id), generator=torch.Generator().manual_seed(reports.seed))
        return by_id[draw].tolist()
    F = reports.loss_received.cpu()[by_id]
    return by_id[F.argsort(descending=config.order == "reverse", stable=True)].tolist()


def kept(order: list[int], alpha: float) -> list[int]:
    """Clients that keep their update: the last ones of PO."""
    return order[ceil((len(order) - 1) * (1 - alpha)) :] if alpha > 0 else []


def mitigate_internal_conflicts(Q: Tensor, order: list[int], keep: list[int]) -> Tensor:
    """Algorithm 2. Coefficients of h_i over the g_j, row i, [m, m], from the inner products Q [m, m] of the g_j.

    The targets g_j stay as they are, so target j can meet all rows at once.
    """
    h = torch.eye(len(order), dtype=Q.dtype)
    for j in order:
        if Q[j, j] >= 1e-24:
            conflict = (h @ Q[j]).clamp(max=0)
            conflict[[j, *keep]] = 0
            h[:, j] -= conflict / Q[j, j]
    return h


def mitigate_external_conflicts(G: Tensor, Q: Tensor, rounds: list[list[int]]) -> Tensor:
    """Algorithm 3. G [n] and Q [n, n] over all vectors; `rounds`, oldest first, say which of them belong together."""
    for ids in rounds:
        product = (Q @ G)[ids].clamp(max=0)
        c = torch.zeros_like(G)
        c[ids] = (product < 0).to(G.dtype)
        square = c @ Q @ c
        if square >= 1e-24:
            G = G - product.sum() / square * c
    return G


def rescaled(G: Tensor, Q: Tensor, m: int) -> Tensor:
    """G at the length of the plain average; 0 if its parts cancel, as G then has no direction."""
    average = torch.zeros_like(G)
    average[:m] = 1 / m
    square = G @ Q @ G
    parts = (G.abs() @ Q.diagonal().sqrt()).square()
    # Updates are float32: 3e-7 of their lengths is rounding.
    if square <= max(1e-24, 1e-13 * parts):
        return torch.zeros_like(G)
    return G * (average @ Q @ average / square).sqrt()


def remembered(state: State, last: Tensor, t: int, tau: int) -> list[Tensor]:
    """Updates of rounds t - tau, ..., t - 1 that are their client's latest, each [*, P]; none before round tau."""
    found = []
    for past in range(t - tau, t) if t >= tau else ():
        clients = state[f"clients_{past % tau}"]
        found.append(state[f"updates_{past % tau}"][(clients >= 0) & (last[clients] == past)])
    return found


def store(state: State, reports: Reports, last: Tensor, tau: int) -> State:
    """This round in the place of round t - tau. Where clients failed to report, places stay empty."""
    slot, m = reports.round % tau, len(reports.clients)
    clients = torch.full_like(state[f"clients_{slot}"], -1)
    updates = torch.zeros_like(state[f"updates_{slot}"])
    clients[:m], updates[:m] = reports.clients, reports.delta
    return {**state, "last": last, f"clients_{slot}": clients, f"updates_{slot}": updates}


class FedFV(Algorithm[Config]):
    measurements = ("loss_received",)

    def required_measurements(self) -> tuple[str, ...]:
        return () if self.config.order == "random" else self.measurements

    def init_state(self, federation: Federation) -> State:
        """A ring of tau rounds: updates [m, P] and their clients [m], -1 where empty; t_k [K] of all, -1: never.

        One tensor per round: a round replaces one of them, so the others need not be copied.
        """
        if self.config.tau == 0:
            return {}
        K, device = federation.clients, federation.x.device
        m = federation.clients_per_round or K
        state = {"last": torch.full((K,), -1, device=device)}
        for slot in range(self.config.tau):
            state[f"updates_{slot}"] = torch.zeros_like(federation.x[: federation.parameters]).repeat(m, 1)
            state[f"clients_{slot}"] = torch.full((m,), -1, device=device)
        return state

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        m, past = len(reports.clients), []
        if self.config.tau > 0:
            last = state["last"].index_fill(0, reports.clients, reports.round)
            past = remembered(state, last, reports.round, self.config.tau)
            state = store(state, reports, last, self.config.tau)
        stack = torch.cat([reports.delta, *past])
        Q = gram(stack)
        order = projection_order(reports, self.config)
        G = torch.zeros(len(stack), dtype=Q.dtype)
        G[:m] = mitigate_internal_conflicts(Q[:m, :m], order, kept(order, self.config.alpha)).mean(0)
        positions = torch.arange(m, len(stack)).split([len(updates) for updates in past])
        G = mitigate_external_conflicts(G, Q, [ids.tolist() for ids in positions])
        G = rescaled(G, Q, m).to(stack.device)
        along_past = G[m:].to(stack.dtype) @ stack[m:] if G[m:].any() else None
        return Aggregate(G[:m], along_past), state
