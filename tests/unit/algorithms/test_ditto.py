"""Ditto: the hand-computed two rounds, both kinds of report, the engine against a plain loop."""

import pytest
import torch

from fairfl.algorithms import ditto
from fairfl.algorithms.interface import Federation, Received, Reports
from tests.unit.algorithms.quadratics import Run
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import close
from tests.unit.simulation.federations import gradient, simulation

ETA, STEPS = 0.1, 2
# f_0 = ||w - (1,0)||^2 / 2 and f_1 = ||w - (0,2)||^2
CENTRES = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
CURVATURES = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
FIRST = vector(0.5, 0.5)


def rounds(count, samples=(5, 5), clients=(0, 1), **hyperparameters):
    """(x, state) after `count` rounds of the two quadratics."""
    config = ditto.Config(**{"report": "personal"} | hyperparameters)
    run = Run(ditto.Ditto(config), FIRST, CENTRES, vector(*samples), CURVATURES, ETA, STEPS).rounds(count, clients)
    return run.x, run.state


@pytest.mark.parametrize(
    ("count", "x", "v"),
    [
        (1, [0.4575, 0.7225], [[0.59, 0.41], [0.33, 1.01]]),
        (2, [0.426688, 0.883812], [[0.639950, 0.392450], [0.239475, 1.297725]]),
    ],
)
def test_example(count, x, v):
    actual, state = rounds(count, **{"lambda": 1.0})
    close(actual, x)
    close(state["v"], v)


def test_a_global_report_trains_no_personal_models():
    config = ditto.Config(**{"lambda": 1e9}, report="global")
    assert ditto.Ditto(config).init_state(Federation(vector(5, 5), FIRST)) == {}
    received = Received(clients=torch.arange(2), samples=vector(5, 5), learning_rate=ETA, x=FIRST)
    plan = ditto.Ditto(config).configure_clients({}, received)
    assert plan.start is None and plan.prox == 0
    close(ditto.Ditto(config).evaluation_models({}, FIRST).models, FIRST[None])


def test_personal_models_carry_the_buffers_of_their_training():
    """Two parameters and one number of a buffer; client 0 is not drawn."""
    first = vector(1, 2, 7)
    config = ditto.Config(report="personal")
    state = ditto.Ditto(config).init_state(Federation(vector(5, 5), first, parameters=2, shapes=((2,),)))
    close(state["v"], first.expand(2, 3))
    known = {"clients": torch.tensor([1]), "samples": vector(5), "learning_rate": ETA, "x": vector(3, 4, 8)}
    plan = ditto.Ditto(config).configure_clients(state, Received(**known))
    close(plan.start, [[[3, 4, 8]], [[1, 2, 7]]])
    delta, buffers = vector(0.5, 0.5, 0.25, -0.25).view(2, 1, 2), vector(8.5, 7.5).view(2, 1, 1)
    reports = Reports(**known, delta=delta, start=plan.start, buffers=buffers)
    close(ditto.Ditto(config).aggregate(state, reports)[1]["v"], [[1, 2, 7], [0.75, 2.25, 7.5]])


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_the_engine_against_a_plain_loop(backend):
    lam = 0.7
    run = simulation("ditto", {"lambda": lam, "report": "personal"}, backend=backend)
    x, v = run.x.clone(), run.x.repeat(3, 1)
    run.run()

    for _ in range(3):
        y = x.repeat(3, 1)
        for k in range(3):
            for _ in range(2):
                y[k] -= 0.1 * gradient(run, y[k], k)
                v[k] -= 0.1 * (gradient(run, v[k], k) + lam * (v[k] - x))
        x = vector(4, 6, 9) @ y / 19
    close(run.x, x, 1e-12)
    close(run.state["v"], v, 1e-12)
