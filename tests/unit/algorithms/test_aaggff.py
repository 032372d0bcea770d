"""AAggFF: the hand-computed rounds of both variants, all CDFs, the quadratic programmes against SciPy."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from fairfl.algorithms import aaggff
from fairfl.algorithms.interface import Federation, Reports
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import ETA, F, G, X, close, reports, start


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


# -- variant S ---------------------------------------------------------------------------------------------


def objective(form, gradients, choices):
    """What variant S minimises after rounds with these gradients [t, K] and choices p_s [t, K], as it is written."""
    a, b = 4, gradients.shape[1] / 4

    def value(p):
        quadratic = sum((g @ (p - p_s)) ** 2 for g, p_s in zip(gradients, choices, strict=True))
        if form == "code":
            quadratic = a * p @ p + sum((g @ p) ** 2 for g in gradients)
        return gradients.sum(0) @ p + a / 2 * p @ p + b / 2 * quadratic

    return value


@pytest.mark.parametrize("form", ["code", "centred"])
@pytest.mark.parametrize("losses", [[0.5, 1.0, 2.0, 4.0], [0.01, 0.01, 0.01, 9.0]])
def test_every_choice_of_variant_s_solves_its_programme(form, losses):
    algorithm, state = start("aaggff", samples=vector(1, 1, 1, 1), form=form, cdf="weibull")
    losses, gradients, choices = vector(*losses), [], []
    for t in range(40):
        told = reports_of(losses.roll(t // 25), t)
        r = aaggff.responses(told.loss_received, algorithm.config) / 4
        choices.append(state["p"].numpy())
        gradients.append((-r / (1 + state["p"] @ r)).numpy())
        _, state = algorithm.aggregate(state, told)
    best = minimize(
        objective(form, np.stack(gradients), np.stack(choices)),
        np.full(4, 0.25),
        method="SLSQP",
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-15, "maxiter": 500},
    )
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
def partial_round(losses=(0.5, 2.0), ids=(0, 2), K=4, t=0, state=None, **hyperparameters):
    """(weights, next state) of a round of some clients."""
    config = aaggff.Config(**hyperparameters)
    known = Federation(torch.ones(K, dtype=torch.float64), clients_per_round=len(ids))
    state = aaggff.AAggFF(config).init_state(known) if state is None else state
    result, state = aaggff.AAggFF(config).aggregate(state, reports_of(vector(*losses), t, ids))
    return result.weights, state


def reports_of(losses, t=0, ids=None):
    ids = torch.arange(len(losses)) if ids is None else torch.tensor(ids)
    return Reports(
        clients=ids,
        samples=torch.ones_like(losses),
        learning_rate=ETA,
        round=t,
        loss_received=losses,
        delta=torch.zeros(len(losses), 1),
    )


def test_example_of_variant_d():
    w, state = partial_round()
    close(aaggff.responses(vector(0.5, 2.0), aaggff.Config()) / 2, [0.137127, 0.362873])
    close(state["G"], [-0.019402, -0.2, -0.380598, -0.2])
    close(state["p"], [0.235195, 0.249774, 0.265257, 0.249774])
    close(w, [0.469965, 0.530035])
    close(X - w @ (ETA * G[[0, 2]]), [0.693993, -1.893993])


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
    w = partial_round(response="official_code")[0]
    close(w, partial_round()[0], 1e-12)  # within a round what is left out cancels


def test_the_start_changes_the_denominator():
    close(partial_round(start="official_code")[1]["G"], vector(-0.024253, -0.25, -0.475747, -0.25) / 1.5)
