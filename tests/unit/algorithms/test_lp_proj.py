"""lp-proj: the hand-computed round of both norms, the server's mean, the engine against a plain loop."""

from dataclasses import fields

import pytest
import torch
import torch.nn.functional as F

from fairfl.algorithms import lp_proj
from fairfl.algorithms.interface import Federation, Received, Reports
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import close
from tests.unit.simulation.federations import gradient, simulation

ETA, STEPS = 0.1, 2
# f_0 = ||w - (1,0)||^2 / 2 and f_1 = ||w - (0,2)||^2
CENTRES = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
CURVATURES = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
FIRST = vector(0.5, 0.5)
SAMPLES = vector(10, 30)


def federation(x=FIRST, K=2, P=2, seed=3, shapes=((2,),)):
    return Federation(torch.ones(K, dtype=torch.float64), x, parameters=P, shapes=shapes, seed=seed)


def rounds(count=1, clients=(0, 1), state=None, **hyperparameters):
    """(state, config) after rounds of the two quadratics, local steps as the interface promises them."""
    config = lp_proj.Config(**{"lambda": 1.0, "d_sub": 1, "start": "same"} | hyperparameters)
    state = lp_proj.LpProj(config).init_state(federation()) if state is None else state
    ids = torch.tensor(clients)
    for t in range(count):
        for number in range(lp_proj.LpProj(config).exchanges_per_round(federation())):
            known = {
                "clients": ids,
                "samples": SAMPLES[ids],
                "learning_rate": ETA,
                "x": FIRST,
                "round": t,
                "exchange": number,
            }
            plan = lp_proj.LpProj(config).configure_clients(state, Received(**known))
            y = plan.start.clone()
            for _ in range(plan.epochs or STEPS):
                force = plan.force(y, torch.arange(len(y)))
                y = y - ETA * (CURVATURES[ids] * (y - CENTRES[ids]) + force)
            told = Reports(**known, start=plan.start, delta=plan.start - y)
            result, state = lp_proj.LpProj(config).aggregate(state, told)
            assert all(getattr(result, field.name) is None for field in fields(result)), "there is no global model"
    return state, config


@pytest.fixture
def row(monkeypatch):
    """P = (3, 4) / 5."""
    monkeypatch.setattr(lp_proj, "random_projection", lambda *known: torch.tensor([[0.6, 0.8]], dtype=torch.float64))


@pytest.mark.parametrize(
    ("p", "th", "o", "omega"),
    [
        (2, [[0.520000, 0.305000], [0.237800, 0.930400]], [[0.0556], [0.0887]], [0.072150]),
        (1, [[0.481, 0.253], [0.212, 0.896]], [[0.1], [0.1]], [0.1]),
    ],
)
def test_example(row, p, th, o, omega):
    state, _ = rounds(p=p)
    close(state["th"], th)
    close(state["o"], o, 5e-5)  # printed with four digits
    close(state["omega"], omega)


# -- limits ------------------------------------------------------------------------------------------------


def test_how_the_server_averages(row):
    (plain, _), (state, _) = rounds(), rounds(weighting="size", b=0.5)
    close(state["omega"], 0.5 * (0.25 * plain["o"][0] + 0.75 * plain["o"][1]), 1e-12)
    again, _ = rounds(1, state=state, b=0.5)
    close(again["omega"], 0.5 * state["omega"] + 0.5 * again["o"].mean(0), 1e-12)


# -- the engine --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
def test_the_engine_against_a_plain_loop(p):
    run = simulation("lp_proj", {"p": p, "lambda": 3.0, "d_sub": 4, "repeats": 2})
    th, omega = run.state["th"].clone(), torch.zeros(4, dtype=torch.float64)
    P, first = run.state["P"], run.x.clone()
    run.run()

    for _ in range(3):
        o = omega.repeat(3, 1)
        for _ in range(2):
            for k in range(3):
                for _ in range(2):
                    c = P @ th[k] - o[k]
                    th[k] -= 0.1 * (gradient(run, th[k], k) + 3.0 * P.T @ (c if p == 2 else c.sign()))
                c = o[k] - P @ th[k]
                o[k] -= 0.1 * 3.0 * (c if p == 2 else c.sign())
        omega = o.mean(0)
    close(run.state["th"], th, 1e-12)
    close(run.state["omega"], omega, 1e-12)
    assert torch.equal(run.x, first), "there is no global model"
    measured = run.result.history[-1]["loss_test"]
    for k in range(3):
        inputs, labels = run.clients.parts["test"].of(k)
        close(F.cross_entropy(F.linear(inputs.flatten(1), th[k, :12].view(3, 4), th[k, 12:]), labels), measured[k])
