"""FedFV. Wang et al., Federated Learning with Fair Averaging, IJCAI 2021, Algorithms 1 to 3.

The same lines on whole vectors, as the paper's boxes have them, are in tests/oracle/naive.py.

    min_x  sum_k p_k F_k(x),    g_k = D_k

    PO     = clients of the round by ascending F_k                              Algorithm 1, line 5
    keep   = the last m - ceil((m-1)(1-alpha)) of PO, none if alpha = 0         largest losses
    h_i    = g_i;   for i not in keep:  for j in PO, j != i:                    Algorithm 2
                        if h_i . g_j < 0:  h_i <- h_i - (h_i . g_j) / ||g_j||^2 g_j
    G      = (1/m) sum_i h_i
    if t >= tau:  for age = tau, ..., 1:                                        Algorithm 3
                        c = sum of the g_k with t_k = t - age and G . g_k < 0
                        if G . c < 0:  G <- G - (G . c) / ||c||^2 c
    G     <- G / ||G|| * ||(1/m) sum_k g_k||
    x     <- x - G

with g_k of absent clients their latest update and t_k its round (shared/recent_updates.py). All vectors are
combinations of these g_k, so h_i, G and c are kept as coefficients (shared/span.py): `h[:, j] -= s` is
h_i <- h_i - s_i g_j for all i.

`keep` follows section 3.4 and the released code: clients with large losses keep their update. The printed box of
Algorithm 2 projects just these (papers/fedfv.yaml has both).
"""

from math import ceil
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Reports, State
from fairfl.algorithms.shared.recent_updates import no_updates, updates_of_absent, with_round
from fairfl.algorithms.shared.span import Span, gram
from fairfl.experiments.base import Strict

ZERO = 1e-24  # ||g||^2 up to which a vector has no direction


class Config(Strict):
    alpha: float = Field(
        0.1, ge=0, le=1, description="share of clients, of largest loss, that keep their update"
    )
    tau: int = Field(
        1,
        ge=0,
        description="rounds for which absent clients are remembered; 0: internal conflicts only",
    )
    order: Literal["loss", "random", "reverse"] = Field(
        "loss",
        description="projection order PO: ascending loss, shuffled in every round, descending loss (table 4)",
    )


def projection_order(reports: Reports, order: str) -> list[int]:
    """PO: positions in the round, first target first. Ties: smaller client id first."""
    by_id = reports.clients.cpu().argsort()
    if order == "random":
        draw = torch.randperm(len(by_id), generator=torch.Generator().manual_seed(reports.seed))
        return by_id[draw].tolist()
    F = reports.loss_received.cpu()[by_id]
    return by_id[F.argsort(descending=order == "reverse", stable=True)].tolist()


def kept(PO: list[int], alpha: float) -> list[int]:
    """Clients that keep their update: the last ones of PO. 1e-9: 9 (1 - 1/3) is 6.000000000000001 in floating point."""
    return PO[ceil((len(PO) - 1) * (1 - alpha) - 1e-9) :] if alpha > 0 else []


def mitigate_internal_conflicts(g: Span, PO: list[int], keep: list[int]) -> Tensor:
    """Algorithm 2: all h_i, [m, m], for the span of g_1, ..., g_m.

    A target g_j stays as it is, so all h_i meet the target j at once.
    """
    h = g.vectors()
    for j in PO:
        if g.products[j, j] >= ZERO:
            conflict = (h @ g.products[j]).clamp(max=0)  # h_i . g_j if it is negative
            conflict[[j, *keep]] = 0
            h[:, j] -= conflict / g.products[j, j]
    return h


def mitigate_external_conflicts(G: Tensor, g: Span, ages: list[list[int]]) -> Tensor:
    """Algorithm 3: the next G, [n]. `ages`: positions in the span of the absent clients' g_k, oldest age first."""
    for absent in ages:
        product = (g.products @ G)[absent].clamp(max=0)  # G . g_k if it is negative
        c = torch.zeros_like(G)
        c[absent] = (product < 0).to(G.dtype)
        if g.square(c) >= ZERO:
            G = G - product.sum() / g.square(c) * c
    return G


def rescale(G: Tensor, g: Span, m: int) -> Tensor:
    """G at the length of the mean of g_1, ..., g_m, [n]; 0 if its parts cancel, as G then has no direction."""
    mean = torch.zeros_like(G)
    mean[:m] = 1 / m
    # Updates are float32: 3e-7 of their lengths is rounding.
    if g.square(G) <= max(ZERO, 1e-13 * float(g.parts(G))):
        return torch.zeros_like(G)
    return G * (g.square(mean) / g.square(G)).sqrt()


class FedFV(Algorithm[Config]):
    """By design not `weights_sum_to_one`: projected and rescaled updates."""

    measurements = ("loss_received",)

    def required_measurements(self) -> tuple[str, ...]:
        return () if self.config.order == "random" else self.measurements

    def init_state(self, federation: Federation) -> State:
        """The updates of the last tau rounds, see shared/recent_updates.py."""
        return no_updates(federation, self.config.tau) if self.config.tau > 0 else {}

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        m, tau, absent = len(reports.clients), self.config.tau, []
        if tau > 0:
            absent, state = updates_of_absent(state, reports, tau), with_round(state, reports, tau)
        ages = torch.arange(m, m + sum(map(len, absent))).split([len(of_age) for of_age in absent])

        g = Span(gram(reports.delta, *absent))  # g_1, ..., g_m of the round, then those of each age
        PO = projection_order(reports, self.config.order)
        h = mitigate_internal_conflicts(g.first(m), PO, kept(PO, self.config.alpha))
        G = mitigate_external_conflicts(
            g.extend(h.mean(0)), g, [positions.tolist() for positions in ages]
        )
        G = rescale(G, g, m).to(reports.delta.device)

        along_absent = G[m:].to(reports.delta.dtype) @ torch.cat(absent) if G[m:].any() else None
        return Aggregate(weights=G[:m], extra=along_absent), state
