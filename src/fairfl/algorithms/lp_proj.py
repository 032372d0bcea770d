"""lp-proj. Lin, Han, Li, Zhang, Personalized Federated Learning towards Communication Efficiency, Robustness and
Fairness, NeurIPS 2022.

There is no global model. P [d_sub, P] is a random projection that all know, from N(0, 1) with rows of length 1:

    min_omega  (1/K) sum_k min_{th_k}  F_k(th_k) + lambda R(P th_k - omega)        omega [d_sub]
    R(c) = ||c||_2^2 / 2,  r(c) = c          lp-proj-2, `p: 2`
    R(c) = ||c||_1,        r(c) = sign(c)    lp-proj-1, `p: 1`

    o_k <- omega                                                      for the clients of the round, omega at first 0
    repeat R times:
        th_k <- th_k - eta (grad F_k(th_k) + lambda P' r(P th_k - o_k))      all local steps with the same o_k
        o_k  <- o_k - eta_o lambda r(o_k - P th_k)
    omega <- (1 - b) omega + b mean(o_k)                              d_sub numbers up, d_sub numbers down
    client k predicts with th_k, which it keeps

Against the public code (desternylin/perfed): there all K clients train in every round and only the mean is over some;
here clients that are not drawn rest, as in all other algorithms. It takes R = 5 times J = 20 batches; here R is
`repeats` and the local steps are those of the setting's local epochs, or of `epochs`: R = 1 is the work of FedAvg. It
clips gradients to norm 60, which is left out. Its `p: 2` of lp_proj divides the step of o by ||c||; its proj, which is
meant here, does not. Every th_k starts at an initialisation of its own there: here its tensors are those of the first
model with their numbers shuffled, which is such a draw where the numbers of a tensor are drawn alike. P is never
stored, it follows from the run's seed.
"""

from functools import lru_cache, partial
from math import prod
from typing import Literal

import torch
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
)
from fairfl.algorithms.shared.proximal import refuse_divergence
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import OptionError


class Config(Strict):
    p: Literal[1, 2] = Field(2, description="norm of P th_k - omega: 2 is squared, 1 is robust")
    lam: float = Field(15.0, ge=0, alias="lambda", description="pull of P th_k towards omega; 0 is local training")
    d_sub: int = Field(10, ge=1, description="length of omega")
    eta_o: float = Field(0.1, gt=0, description="rate of o_k")
    b: float = Field(1.0, gt=0, le=1, description="share of the clients in the next omega")
    repeats: int = Field(1, ge=1, description="R, local training and step of o_k in a round; 5 in the public code")
    epochs: int | None = Field(None, ge=1, description="local epochs of each of them; null: the setting's")
    orthogonalize: bool = Field(False, description="rows of P orthogonal to each other")
    weighting: Literal["uniform", "size"] = Field("uniform", description="mean of the o_k: all alike, or by samples")
    start: Literal["own", "same"] = Field(
        "own",
        description="first th_k: numbers shuffled for each client, or the first model (use it for pretrained ones)",
    )

    @model_validator(mode="after")
    def _stable(self):
        if self.p == 2 and self.eta_o * self.lam >= 2:
            most = f"it must stay below 2 / {self.lam} = {2 / self.lam:g}"
            raise ValueError(f"eta_o {self.eta_o} diverges at lambda {self.lam}; {most}")
        return self


@lru_cache(maxsize=1)
def projection(
    seed: int, d_sub: int, parameters: int, orthogonalize: bool, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """P, [d_sub, P]."""
    draw = torch.Generator().manual_seed(seed)
    rows = torch.stack([torch.randn(parameters, generator=draw, dtype=torch.float64) for _ in range(d_sub)])
    if orthogonalize:
        Q, R = torch.linalg.qr(rows.T)
        rows = (Q * R.diagonal().sign()).T  # the signs of Gram and Schmidt
    return (rows / rows.norm(dim=1, keepdim=True)).to(device, dtype)


def shuffled(federation: Federation) -> Tensor:
    """The first model x for each client, [K, P + B], the numbers of each parameter tensor in an order of its own."""
    draw = torch.Generator().manual_seed(federation.seed ^ 1)  # not the draws of P
    x, P = federation.x, federation.parameters
    parts = x[:P].split([prod(shape) for shape in federation.shapes])
    own = [
        torch.cat([*(part[torch.randperm(len(part), generator=draw).to(x.device)] for part in parts), x[P:]])
        for _ in range(federation.clients)
    ]
    return torch.stack(own)


def known_to_all(state: State, config: Config) -> Tensor:
    """P, [d_sub, P]."""
    th, size = state["th"], int(state["parameters"])
    return projection(int(state["seed"]), config.d_sub, size, config.orthogonalize, th.dtype, th.device)


def at_exchange(state: State, received: Received) -> Tensor:
    """o_k as the exchange begins, of all clients, [K, d_sub]."""
    return state["omega"].expand_as(state["o"]) if received.exchange == 0 else state["o"]


def r(c: Tensor, p: int) -> Tensor:
    """Gradient of R."""
    return c if p == 2 else c.sign()


def pull(y: Tensor, place: int, projection: Tensor, o: Tensor, config: Config) -> Tensor:
    """lambda P' r(P y - o_k), [P], for the model y [P] of the client at a place of o [m, d_sub]."""
    return config.lam * (projection.T @ r(projection @ y - o[place], config.p))


class LpProj(Algorithm[Config]):
    requires_sequential = True
    incompatible_modifiers = ("server_momentum", "fedvarp")

    def exchanges_per_round(self, federation: Federation) -> int:
        return self.config.repeats

    def traffic(self, federation: Federation) -> tuple[int, int]:
        return self.config.d_sub, self.config.d_sub

    def init_state(self, federation: Federation) -> State:
        """th [K, P + B], o [K, d_sub], omega [d_sub], and what P follows from.

        Raises OptionError if more rows are to be orthogonal than there are parameters.
        """
        K, x, P = federation.clients, federation.x, federation.parameters
        if self.config.orthogonalize and self.config.d_sub > P:
            raise OptionError(
                f"lp_proj: d_sub: {self.config.d_sub} rows of {P} parameters cannot be orthogonal; at most {P}"
            )
        return {
            "th": shuffled(federation) if self.config.start == "own" else x.repeat(K, 1),
            "o": x.new_zeros(K, self.config.d_sub),
            "omega": x.new_zeros(self.config.d_sub),
            "seed": torch.tensor(federation.seed),
            "parameters": torch.tensor(P),
        }

    def configure_clients(self, state: State, received: Received) -> Plan:
        """Raises OptionError if the pull alone makes th_k diverge."""
        if self.config.p == 2:
            refuse_divergence("lp_proj", "lambda", self.config.lam, received.learning_rate)
        o = at_exchange(state, received)[received.clients]
        force = partial(pull, projection=known_to_all(state, self.config), o=o, config=self.config)
        return Plan(start=state["th"][received.clients], epochs=self.config.epochs, force=force)

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        S, th, P = reports.clients, reports.trained, known_to_all(state, self.config)
        o = at_exchange(state, reports)
        own = o[S] - self.config.eta_o * self.config.lam * r(o[S] - th[:, : P.shape[1]] @ P.T, self.config.p)
        state = {**state, "th": state["th"].index_copy(0, S, th), "o": o.index_copy(0, S, own)}
        if reports.exchange == self.config.repeats - 1:
            n = reports.samples if self.config.weighting == "size" else torch.ones_like(reports.samples)
            mean = (n / n.sum()).to(own.dtype) @ own
            state["omega"] = (1 - self.config.b) * state["omega"] + self.config.b * mean
        return Aggregate(), state

    def evaluation_models(self, state: State, x: Tensor) -> EvaluationModels:
        return EvaluationModels(state["th"])
