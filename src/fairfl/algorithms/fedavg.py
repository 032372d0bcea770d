"""FedAvg. McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017.

    min_x  sum_k p_k F_k(x),    x <- sum_k p_k x_k  =  x - sum_k p_k D_k

with p_k = n_k / sum_j n_j over the clients of the round, or p_k = 1/m (EAGLE section 2: "uniform weights").

Tables run: EAGLE with weighting = uniform; FedFV with weighting = uniform.
"""

from fairfl.algorithms.interface import Aggregate, Algorithm, Reports, State
from fairfl.experiments.base import Strict
from fairfl.experiments.hyperparameters import Weighting


class Config(Strict):
    weighting: Weighting = "size"


class FedAvg(Algorithm[Config]):
    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        return Aggregate(weights=reports.shares(self.config.weighting)), state
