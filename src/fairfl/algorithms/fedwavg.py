"""FedWAvg. RECONSTRUCTED: clients with more forgettable examples get more weight.

This sentence of its abstract is all that could be read: neither formula nor code. Forgetting is as in Toneva et al.,
An Empirical Study of Example Forgetting during Deep Neural Network Learning, ICLR 2019:

    checks of client k    all its training samples, at x and at x_k, in each round that it takes part in
    forgetting event      a sample that was classified right at the last check is wrong at this one
    forgettable           a sample that had an event in any round, or was right at no check yet
    s_k                   forgettable samples of client k

    w_k = (s_k + 1) / sum_j (s_j + 1)              mode: count; uniform if nothing is forgotten
    w_k = (n_k + s_k) / sum_j (n_j + s_j)          mode: scaled; FedAvg if nothing is forgotten
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Reports, State, put
from fairfl.algorithms.shared.class_counts import class_counts
from fairfl.experiments.base import Strict


class Config(Strict):
    mode: Literal["count", "scaled"] = Field("count", description="w_k by s_k + 1, or by n_k + s_k")


def check(bits: State, right: Tensor) -> State:
    """The bits of some clients, each [m, n_max], after a check that found `right`, bool of that shape."""
    return {
        "right_last": right,
        "right_ever": bits["right_ever"] | right,
        "forgotten": bits["forgotten"] | (bits["right_last"] & ~right),
    }


class FedWAvg(Algorithm[Config]):
    """By design not `constant_loss`: the toy's right samples follow from its losses."""

    measurements = ("correct_received", "correct_after")
    is_reconstructed = True

    def init_state(self, federation: Federation) -> State:
        """Memory of every sample, [K, n_max] bool: right at the last check, right at any, had a forgetting event.

        Raises FairflError if the samples have no class.
        """
        class_counts("fedwavg", federation)
        n = federation.samples
        none = torch.zeros(federation.clients, int(n.max()), dtype=torch.bool, device=n.device)
        return {"right_last": none, "right_ever": none, "forgotten": none}

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        S, n = reports.clients, reports.samples
        bits = {name: of_all[S] for name, of_all in state.items()}
        for correct in (reports.correct_received, reports.correct_after):  # at x, then at x_k
            bits = check(bits, correct == 1)
        forgettable = bits["forgotten"] | ~bits["right_ever"]
        s = (forgettable & (reports.correct_after >= 0)).sum(1)  # without the padding behind n_k
        w = s + 1.0 if self.config.mode == "count" else n + s
        return Aggregate(weights=w.to(n.dtype) / w.sum()), put(state, S, **bits)
