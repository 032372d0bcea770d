"""AAggFF: all CDFs, the rounds of both variants, the quadratic programmes against SciPy."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from fairfl.algorithms import aaggff
from fairfl.algorithms.interface import Federation
from tests.unit.algorithms.toy import ETA, F, G, X, close, reports, start, told, vector


@pytest.mark.parametrize(
    ("cdf", "expected"),
    [
        ("weibull", [0.167792, 0.520348, 0.947069]),
        ("exponential", [0.348561, 0.575627, 0.819908]),
        ("frechet", [0.096972, 0.311403, 0.558035]),
        ("normal", [0.283855, 0.443202, 0.762475]),
        ("gumbel", [0.170198, 0.315510, 0.612907]),
        ("logistic", [0.360907, 0.464346, 0.671347]),
        ("normal_official_code", [1.216145, 1.056798, 0.737525]),
    ],
)
def test_example_of_the_responses(cdf, expected):
    close(aaggff.responses(F, aaggff.Config(cdf=cdf)), expected)


def report(losses, t=0, ids=None):
    return told(torch.zeros(len(losses), 1), ids, loss_received=losses, round=t)


# -- variant S ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["code", "centred"])
@pytest.mark.parametrize("losses", [[0.5, 1.0, 2.0, 4.0], [0.01, 0.01, 0.01, 9.0]])
def test_every_choice_of_variant_s_solves_its_programme(form, losses):
    """What variant S minimises after rounds with gradients g_s [K] and choices p_s [K], as it is written."""
    algorithm, state = start("aaggff", samples=vector(1, 1, 1, 1), form=form, cdf="weibull")
    gradients, choices = [], []
    for t in range(40):
        shown = report(vector(*losses).roll(t // 25), t)
        r = aaggff.responses(shown.loss_received, algorithm.config) / 4
        choices.append(state["p"].numpy())
        gradients.append((-r / (1 + state["p"] @ r)).numpy())
        _, state = algorithm.aggregate(state, shown)

    def objective(p, a=4, b=4 / 4):
        quadratic = sum((g @ (p - p_s)) ** 2 for g, p_s in zip(gradients, choices, strict=True))
        if form == "code":
            quadratic = a * p @ p + sum((g @ p) ** 2 for g in gradients)
        return np.sum(gradients, 0) @ p + a / 2 * p @ p + b / 2 * quadratic

    simplex = {"type": "eq", "fun": lambda p: p.sum() - 1}
    options = {"ftol": 1e-15, "maxiter": 500}
    best = minimize(objective, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints=simplex, options=options)
    close(state["p"], best.x, 1e-5)
    assert state["p"].min() >= 0
    if form == "centred":
        assert (state["p"] == 0).any(), "so that bounds are tried, too"


def test_a_lost_report_of_variant_s_has_the_mean_response():
    algorithm, state = start("aaggff")
    two = reports(ids=(0, 2))
    result, state = algorithm.aggregate(state, two)
    r = aaggff.responses(two.loss_received, algorithm.config) / 3
    r = torch.stack([r[0], r.mean(), r[1]])
    close(state["G"], -r / (1 + r.mean()), 1e-12)
    close(result.weights, state["p"][[0, 2]] / state["p"][[0, 2]].sum(), 1e-12)


# -- variant D ---------------------------------------------------------------------------------------------
def partial_round(losses=(0.5, 2.0), t=0, state=None, **hyperparameters):
    """(weights, next state) of a round of clients 0 and 2 of four."""
    algorithm = aaggff.AAggFF(aaggff.Config(**hyperparameters))
    state = algorithm.init_state(Federation(vector(1, 1, 1, 1), clients_per_round=2)) if state is None else state
    result, state = algorithm.aggregate(state, report(vector(*losses), t, (0, 2)))
    return result.weights, state


def test_example_of_variant_d():
    w, state = partial_round()
    close(aaggff.responses(vector(0.5, 2.0), aaggff.Config()) / 2, [0.137127, 0.362873])
    close(state["G"], [-0.019402, -0.2, -0.380598, -0.2])
    close(state["p"], [0.235195, 0.249774, 0.265257, 0.249774])
    close(w, [0.469965, 0.530035])
    close(X - w @ (ETA * G[[0, 2]]), [0.693993, -1.893993])
    close(partial_round(start="official_code")[1]["G"], vector(-0.024253, -0.25, -0.475747, -0.25) / 1.5)


def test_the_whole_linearised_gradient():
    """rt = (0.024253, 0.25, 0.475747, 0.25) again, at a p of which <p, rt - rbar> is not 0."""
    _, state = partial_round()
    p, rt, rbar = state["p"], vector(0.024253, 0.25, 0.475747, 0.25), 0.25
    _, after = partial_round(state=state, t=1)
    g = -rt / (1 + rbar) + rbar * (p @ (rt - rbar)) / (1 + rbar) ** 2
    close(after["G"] - state["G"], g)
    close(after["p"], (-after["G"] * np.sqrt(np.log(4)) / (np.sqrt(3) * 2.5)).softmax(0), 1e-12)


def test_the_official_code_makes_taking_part_costly():
    assert partial_round(losses=(1.0, 1.0))[1]["p"].std() < 1e-12
    p = partial_round(losses=(1.0, 1.0), response="official_code")[1]["p"]
    assert p[0] == p[2] < p[1] == p[3]
    close(partial_round(response="official_code")[0], partial_round()[0], 1e-12)  # what is left out cancels
