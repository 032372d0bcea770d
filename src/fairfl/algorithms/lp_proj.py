"""lp-proj. Lin, Han, Li, Zhang, Personalized Federated Learning towards Communication Efficiency, Robustness and
Fairness, NeurIPS 2022.

It has no global model. P [d_sub, P] is a random projection that all know, from N(0, 1) with rows of length 1:

    min_omega  (1/K) sum_k min_{th_k}  F_k(th_k) + lambda R(P th_k - omega)        omega [d_sub]
    R(c) = ||c||_2^2 / 2,  r(c) = c          lp-proj-2, `p: 2`
    R(c) = ||c||_1,        r(c) = sign(c)    lp-proj-1, `p: 1`

    o_k <- omega                                                      for the clients of the round, omega at first 0
    repeat R times:                                                   one exchange each
        th_k <- th_k - eta (grad F_k(th_k) + lambda P' r(P th_k - o_k))      all local steps with the same o_k
        o_k  <- o_k - eta_o lambda r(o_k - P th_k)
    omega <- (1 - b) omega + b mean(o_k)                              d_sub numbers up, d_sub numbers down
    client k predicts with th_k, which it keeps

Against the public code (desternylin/perfed): there all K clients train in every round and only the mean is over some;
here clients that are not drawn rest, as in all other algorithms. It takes R = 5 times J = 20 batches; here R is
`repeats` and the local steps are the setting's local epochs, or of `epochs`: R = 1 is the work of FedAvg. It
clips gradients to norm 60, which is left out. Its `p: 2` of lp_proj divides the step of o by ||c||; its proj, which is
meant here, does not. Every th_k starts at a separate initialisation there; `start` says what stands for it here. P
and the first th_k follow from the run's seed (shared/random_projection.py).
"""

from functools import partial
from typing import Literal

from pydantic import Field, model_validator
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
from fairfl.algorithms.shared.proximal import refuse_divergence
from fairfl.algorithms.shared.random_projection import random_projection, shuffled_models
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import OptionError


class Config(Strict):
    p: Literal[1, 2] = Field(2, description="norm of P th_k - omega: 2 is squared, 1 is robust")
    lam: float = Field(
        15.0, ge=0, alias="lambda", description="pull of P th_k towards omega; 0 is local training"
    )
    d_sub: int = Field(10, ge=1, description="length of omega")
    eta_o: float = Field(0.1, gt=0, description="rate of o_k")
    b: float = Field(1.0, gt=0, le=1, description="share of the clients in the next omega")
    repeats: int = Field(
        1, ge=1, description="R, local training and step of o_k in a round; 5 in the public code"
    )
    epochs: int | None = Field(
        None, ge=1, description="local epochs of each of them; null: the setting's"
    )
    orthogonalize: bool = Field(False, description="rows of P orthogonal to each other")
    weighting: Literal["uniform", "size"] = Field(
        "uniform", description="mean of the o_k: all alike, or by samples"
    )
    start: Literal["own", "same"] = Field(
        "own",
        description="first th_k: numbers shuffled for each client, or the initial model (use it for pretrained ones)",
    )

    @model_validator(mode="after")
    def _check_rate(self) -> "Config":
        if self.p == 2 and self.eta_o * self.lam >= 2:
            most = f"it must stay below 2 / {self.lam} = {2 / self.lam:g}"
            raise ValueError(f"eta_o {self.eta_o} diverges at lambda {self.lam}; {most}")
        return self


def r(c: Tensor, p: int) -> Tensor:
    """Gradient of R at c [..., d_sub], of that shape."""
    return c if p == 2 else c.sign()


def pull(Y: Tensor, places: Tensor, P: Tensor, o: Tensor, config: Config) -> Tensor:
    """lambda P' r(P y - o_k), [n, P], for the models Y [n, P] of the clients at these places of o [m, d_sub]."""
    return r(Y @ P.T - o[places], config.p) @ (config.lam * P)


class LpProj(Algorithm[Config]):
    """By design not `equal_clients`: there is no global model.
    By design not `weights_sum_to_one`: there is no global model.
    """

    # No server model steps by G; noise on th_k, which no client sends.
    incompatible_modifiers = ("server_momentum", "fedvarp", "dp.target=update")

    def exchanges_per_round(self, federation: Federation) -> int:
        return self.config.repeats

    def traffic(self, federation: Federation) -> tuple[int, int]:
        """omega down, o_k up."""
        return self.config.d_sub, self.config.d_sub

    def init_state(self, federation: Federation) -> State:
        """th [K, P + B], o [K, d_sub], omega [d_sub], and P [d_sub, P].

        Raises OptionError if more rows are to be orthogonal than there are parameters.
        """
        K, x, d_sub = federation.clients, federation.x, self.config.d_sub
        parameters = federation.parameters or x.shape[-1]
        if self.config.orthogonalize and d_sub > parameters:
            raise OptionError(
                f"lp_proj: d_sub: {d_sub} rows of {parameters} parameters cannot be orthogonal; at most {parameters}"
            )
        P = random_projection(federation.seed, d_sub, parameters, self.config.orthogonalize)
        return {
            "th": shuffled_models(federation) if self.config.start == "own" else x.repeat(K, 1),
            "o": x.new_zeros(K, d_sub),
            "omega": x.new_zeros(d_sub),
            "P": P.to(x),
        }

    def _anchors(self, state: State, received: Received) -> Tensor:
        """o_k of all clients as the exchange begins, [K, d_sub]: omega in the first one of a round."""
        return state["omega"].expand_as(state["o"]) if received.exchange == 0 else state["o"]

    def configure_clients(self, state: State, received: Received) -> Plan:
        """Raises OptionError if the pull alone makes th_k diverge even where P has norm 1, the least that it can have.

        One of few columns is longer, and may diverge below that: a diverged run, not an error.
        """
        if self.config.p == 2:
            refuse_divergence("lp_proj", "lambda", self.config.lam, received.learning_rate)
        S = received.clients
        force = partial(pull, P=state["P"], o=self._anchors(state, received)[S], config=self.config)
        return Plan(start=state["th"][S], epochs=self.config.epochs, force=force)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        S, th, P, b = reports.clients, reports.trained, state["P"], self.config.b
        o = self._anchors(state, reports)
        c = o[S] - th[:, : P.shape[1]] @ P.T
        o_S = o[S] - self.config.eta_o * self.config.lam * r(c, self.config.p)
        state = put(state | {"o": o}, S, th=th, o=o_S)
        if reports.exchange == self.config.repeats - 1:
            mean = reports.shares(self.config.weighting).to(o_S.dtype) @ o_S
            state["omega"] = (1 - b) * state["omega"] + b * mean
        return Aggregate(), state

    def evaluation_models(self, state: State, x: Tensor) -> EvaluationModels:
        return EvaluationModels(state["th"])
