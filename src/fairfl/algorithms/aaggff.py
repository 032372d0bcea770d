"""AAggFF. Hahn, Kim, Lee, Pursuing Overall Welfare in Federated Learning through Sequential Decision Making, ICML 2024.

The weights p of all K clients are a portfolio that the server chooses again in each round t = 1, 2, ...:

    l_t(p) = -log(1 + <p, r>)                                      decision loss, to be small in the long run
    u_k    = F_k / mean_j F_j                                      over the clients S of the round
    r_k    = c CDF(u_k)                                            response; c = 1/K in variant S, C = m/K in variant D

S, everybody takes part: online Newton step, a = 4, b = K/4, G and H over all rounds

    g  = -r / (1 + <p, r>),    G <- G + g,    H <- H + g g'
    p <- argmin_{simplex}  <G, p> + (a/2) ||p||^2 + (b/2) p' (a I + H) p                      form: code
    p <- argmin_{simplex}  <G, p> + (a/2) ||p||^2 + (b/2) sum_s <g_s, p - p_s>^2              form: centred

D, some do: linearised follow the regularised leader with doubly robust responses

    rt_k = rbar + [k in S] (r_k - rbar) / C                        rbar = mean of r over S
    den  = 1 + rbar sum_k p_k
    g_k  = -rt_k / den + rbar <p, rt - rbar> / den^2,    G <- G + g
    p_k <- exp(-G_k sqrt(log K) / (sqrt(t + 1) (2 + C))) / sum_j ...

Both:  w_k = p_k / sum_{j in S} p_j, with the new p. It has no n_k: a uniform p is FedAvg with uniform weights.

The authors' code (vaseline555/AAggFF) departs from this in three places. Each of them is a value here, because results
that others publish may come from that code:
  cdf        its normal CDF is (1 + erfc(z)) / 2 in place of (1 + erf(z)) / 2, z = (u - 1) / sqrt(2): it falls with the
             loss, so that the worst off count least. `normal_official_code` is that function.
  response   in D it leaves the rbar out for clients of S: `official_code`, so that taking part costs weight later on.
  start      p_k = 1 (S) or C (D) for everybody at first, which changes the first gradient only: `official_code`.
A client of variant S whose report is lost has the mean response.
"""

from math import log, sqrt
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Algorithm, Federation, Reports, State
from fairfl.algorithms.shared.min_norm import min_quadratic
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import OptionError

CDFS = {
    "weibull": lambda u: 1 - torch.exp(-u.square()),
    "exponential": lambda u: 1 - torch.exp(-u),
    "frechet": lambda u: torch.exp(-1 / u),
    "normal": lambda u: torch.special.ndtr(u - 1),
    "gumbel": lambda u: torch.exp(-torch.exp(1 - u)),
    "logistic": lambda u: torch.sigmoid(u - 1),
    "normal_official_code": lambda u: (1 + torch.special.erfc((u - 1) / sqrt(2))) / 2,
}


class Config(Strict):
    cdf: Literal[
        "weibull", "exponential", "frechet", "normal", "gumbel", "logistic", "normal_official_code"
    ] = Field(
        "normal", description="distribution of losses over their mean; what FedEBA+ used is normal"
    )
    variant: Literal["auto", "S", "D"] = Field(
        "auto", description="auto: S if everybody takes part in every round"
    )
    form: Literal["code", "centred"] = Field("code", description="quadratic term of variant S")
    response: Literal["doubly_robust", "official_code"] = Field(
        "doubly_robust", description="rt_k of variant D"
    )
    start: Literal["uniform", "official_code"] = Field(
        "uniform", description="first p_k: 1/K, or m/K"
    )


def responses(F: Tensor, config: Config) -> Tensor:
    """CDF(u_k), [m], of losses F [m] in nats, without the factor c; of u = 1 if all losses are 0."""
    mean = F.mean()
    u = torch.where(mean < 1e-12, torch.ones_like(F), F / mean)
    return CDFS[config.cdf](u)


def newton_step(state: State, cdf: Tensor, form: str) -> State:
    """Variant S: the next state, from CDF(u_k), [K]."""
    p, K = state["p"], len(cdf)
    g = -(cdf / K) / (1 + p @ cdf / K)  # r_k = CDF(u_k) / K
    G, H = state["G"] + g, state["H"] + g.outer(g)
    Hp = state["Hp"] + g * (g @ p)
    a, b, identity = 4, K / 4, torch.eye(K, dtype=H.dtype, device=H.device)
    if form == "code":
        linear, quadratic = G, (a + a * b) * identity + b * H
    else:  # sum_s <g_s, p - p_s>^2 = p' H p - 2 <Hp, p> + a constant
        linear, quadratic = G - b * Hp, a * identity + b * H
    return {
        **state,
        "p": min_quadratic(linear, quadratic, begin=p / p.sum()),
        "G": G,
        "H": H,
        "Hp": Hp,
    }


def leader_step(state: State, cdf: Tensor, S: Tensor, t: int, response: str) -> State:
    """Variant D: the next state, from CDF(u_k) of clients S, both [m], in round t from 1."""
    p, C, K = state["p"], state["C"], len(state["p"])
    r, rbar = C * cdf, C * cdf.mean()
    base = rbar if response == "doubly_robust" else 0 * rbar
    rt = rbar.expand(K).index_copy(0, S, base + (r - rbar) / C)
    den = 1 + rbar * p.sum()
    G = state["G"] - rt / den + rbar * (p @ (rt - rbar)) / den**2
    return {**state, "G": G, "p": (-G * sqrt(log(K)) / (sqrt(t + 1) * (2 + C))).softmax(dim=0)}


class AAggFF(Algorithm[Config]):
    """By design not `constant_loss`: losses count by their ratios."""

    measurements = ("loss_received",)

    def init_state(self, federation: Federation) -> State:
        """p [K], G [K], C = m/K; in variant S also H [K, K] and Hp = sum_s g_s <g_s, p_s> [K].

        Raises OptionError if S is asked for and not everybody takes part.
        """
        K = federation.clients
        m = federation.clients_per_round or K
        if self.config.variant == "S" and m < K:
            raise OptionError(
                f"aaggff: variant: S is for rounds of all {K} clients, here {m} take part; use D or auto"
            )
        ones = torch.ones_like(federation.samples)
        C = ones.new_tensor(m / K)
        state = {
            "p": ones / K if self.config.start == "uniform" else ones * C,
            "G": 0 * ones,
            "C": C,
        }
        if self.config.variant == "S" or (self.config.variant == "auto" and m == K):
            state |= {"H": ones.new_zeros(K, K), "Hp": 0 * ones}
        return state

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        S, K = reports.clients, len(state["p"])
        cdf = responses(reports.loss_received, self.config)
        if "H" in state:
            # Lost reports have the mean response.
            of_all = cdf.mean().expand(K).index_copy(0, S, cdf)
            state = newton_step(state, of_all, self.config.form)
        else:
            state = leader_step(state, cdf, S, reports.round + 1, self.config.response)
        p = state["p"][S]
        total = p.sum()  # 0 where reports of variant S are lost and the others have no weight
        return Aggregate(weights=torch.where(total > 0, p / total, 1 / len(p))), state
