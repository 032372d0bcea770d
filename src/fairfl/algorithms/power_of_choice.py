"""Power-of-choice (pow-d). Cho, Wang, Joshi, Towards Understanding Biased Client Selection in Federated Learning,
AISTATS 2022, section 4.

    A   d >= m of all K clients, without replacement, client k with probability p_k = n_k / sum_j n_j
    S   the m of A with the largest losses F_k(x)
    x   <- x - (1/m) sum_{k in S} D_k

Every candidate is sent x and answers with its loss on all its training samples; the m chosen ones train. With
`candidates: uniform` A is a uniform draw, and so S is FedAvg's at d = m. From d = K the m largest losses of all count.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Reports, Selection, State
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import OptionError


class Config(Strict):
    d: int = Field(ge=1, description="candidates, at least m; more than K are K")
    candidates: Literal["size", "uniform"] = Field("size", description="drawn by p_k, or uniformly")
    weighting: Literal["size", "uniform"] = Field(
        "uniform", description="of the updates: 1/m, or by samples"
    )


class PowerOfChoice(Algorithm[Config]):
    def init_state(self, federation: Federation) -> State:
        """Nothing. Raises OptionError if there are fewer candidates than clients to choose."""
        d, m = self.config.d, federation.clients_per_round or federation.clients
        if d < m:
            raise OptionError(
                f"power_of_choice: d: {d} candidates for {m} clients in a round; it must be at least {m}"
            )
        return {}

    def _candidates(self, selection: Selection) -> Tensor:
        """A, [d]."""
        if self.config.candidates == "uniform":
            return selection.order[: self.config.d]
        # A draw by weight without replacement: the d largest of log(u_k) / n_k (Efraimidis, Spirakis 2006).
        u = torch.rand(
            len(selection.samples), dtype=torch.float64, generator=selection.generator("candidates")
        )
        return (u.log() / selection.samples).topk(min(self.config.d, len(u))).indices

    def select(self, state: State, selection: Selection) -> Tensor:
        A = self._candidates(selection)
        F = selection.losses(A).nan_to_num(nan=-torch.inf)  # of a client without samples
        return A[F.topk(selection.clients_per_round).indices]

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        return Aggregate(reports.shares(self.config.weighting)), state
