"""FedVARP. Jhunjhunwala et al., FedVARP: Tackling the Variance Due to Partial Client Participation, UAI 2022.

    y_k = 0 before the first round, for all K clients
    G   = sum_k w_k (D_k - y_k) + sum_j pi_j y_j + extra        k in the round, j over all clients
    y_k <- D_k                                                  k in the round

FedVARP has w_k = 1/m and pi_j = 1/K; here w_k and `extra` are the algorithm's (FedEBA+, table 11, puts it on
reweighting algorithms). The algorithm sees the D_k as they are. Or it sees what replaces them,

    D_k - y_k + sum_j pi_j y_j                                  corrected: updates

for algorithms that do more with updates than to sum them: these vectors are what FedFV projects. For weights that sum
to 1 both are the same sum.

If everybody takes part and w = pi, nothing changes. The mean of the y_j is added whole, whatever the w_k sum to. Where
they sum to s, and not to 1 (FedEBA+ while it aligns models, FedMGDA+, q-FFL), everybody takes part and w = s pi,

    G = sum_k w_k D_k + (1 - s) sum_j pi_j y_j + extra

so G has a part of former updates; with `corrected: updates` it has not, as w_k weights the mean, too. The memory holds
one vector per client, [K, P].
"""

from dataclasses import replace
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Federation, Reports, State
from fairfl.experiments.base import Strict
from fairfl.modifiers.interface import Modifier
from fairfl.runtime.errors import OptionError


class Config(Strict):
    weighting: Literal["samples", "uniform"] = Field(
        "samples", description="pi_j = n_j / N, or 1 / K"
    )
    corrected: Literal["sum", "updates"] = Field(
        "sum", description="the weighted sum, or every update before the algorithm sees it"
    )
    per_rate: bool = Field(
        True,
        description="y_k is kept as D_k / eta and meets the rate of its round, which stays true where rates decay",
    )


def remembered(state: State, reports: Reports, config: Config) -> tuple[Tensor, Tensor]:
    """y_k of the round's clients, [m, P], and sum_j pi_j y_j, [P]."""
    if reports.delta.dim() != 2:
        raise OptionError(
            f"fedvarp remembers one update per client, clients of this algorithm train {len(reports.delta)} models each"
        )
    memory = state["memory"]
    eta = reports.learning_rate if config.per_rate else 1.0
    return eta * memory[reports.clients], eta * (state["pi"].to(memory.dtype) @ memory)


class FedVARP(Modifier[Config]):
    def init_state(self, federation: Federation) -> State:
        """`memory` of the y_k, [K, P], and `pi`, [K] float64.

        Raises OptionError if the server keeps several models.
        """
        if federation.x.dim() > 1:
            raise OptionError(
                "fedvarp remembers one update per client, "
                f"the server of this algorithm keeps {len(federation.x)} models"
            )
        n, x = federation.samples, federation.x[: federation.parameters]
        pi = n / n.sum() if self.config.weighting == "samples" else torch.full_like(n, 1 / len(n))
        return {"memory": x.new_zeros(len(n), len(x)), "pi": pi}

    def modify_reports(self, state: State, reports: Reports) -> Reports:
        if self.config.corrected == "sum":
            return reports
        if (
            reports.exchange
        ):  # the memory is of the updates that are summed, those of an earlier exchange are others
            raise OptionError(
                "fedvarp: corrected: updates needs one exchange in a round, this algorithm has more: sum"
            )
        y, mean = remembered(state, reports, self.config)
        return replace(reports, delta=reports.delta - y + mean)

    def modify_sum(
        self, state: State, G: Tensor, aggregate: Aggregate, reports: Reports
    ) -> tuple[Tensor, State]:
        y, mean = remembered(state, reports, self.config)
        D = reports.delta
        if self.config.corrected == "updates":
            D = D + y - mean
        elif aggregate.weights is None:
            raise OptionError(
                "fedvarp corrects a weighted sum of updates, which this algorithm does not form"
            )
        else:
            G = G - aggregate.weights.to(y.dtype) @ y + mean
        stored = D / reports.learning_rate if self.config.per_rate else D
        return G, state | {"memory": state["memory"].index_copy(0, reports.clients, stored)}
