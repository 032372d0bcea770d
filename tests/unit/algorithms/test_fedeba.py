"""FedEBA: hand-computed examples, both losses, both priors, schedules of tau."""

from dataclasses import replace
from math import log

import pytest

from fairfl.algorithms import fedeba
from fairfl.algorithms.shared import entropy
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import F, close, reports, start, step

# At x, where the losses that a client does not go by are others.
BEFORE, AFTER = replace(reports(), loss_after=-F), replace(reports(), loss_received=-F)


@pytest.mark.parametrize(("weight_loss", "report"), [("after", AFTER), ("before", BEFORE)])
@pytest.mark.parametrize(
    ("tau", "prior", "w", "x"),
    [
        (1.0, "uniform", [0.140244, 0.231224, 0.628532], [0.743661, -1.943661]),
        (0.1, "uniform", [0.000000, 0.000045, 0.999954], None),
        (100.0, "uniform", [0.331112, 0.332772, 0.336116], None),
        (1.0, "size", [0.113906, 0.375600, 0.510493], [0.810581, -2.010581]),
    ],
)
def test_example(weight_loss, report, tau, prior, w, x):
    actual, weights, state = step("fedeba", report, tau=tau, prior=prior, weight_loss=weight_loss)
    close(weights, w)
    assert state == {}
    if x:
        close(actual, x)


def test_figure_1():
    """F_1 = 2 (x - 2)^2 and F_2 = (x + 4)^2 / 2 take one step of 1/4 from 0, to 2 and -1; their losses were equal."""
    report = replace(
        reports(ids=(0, 1)), delta=vector(-2, 1)[:, None], loss_received=vector(8, 8), loss_after=vector(0, 4.5)
    )

    def moved(**hyperparameters):
        algorithm, state = start("fedeba", **hyperparameters)
        return -algorithm.aggregate(state, report)[0].weights @ report.delta

    close(moved(tau=4.5 / log(7 / 3)), [-0.1])
    close(moved(tau=1.0), [-0.967], 5e-4)
    close(moved(tau=1.0, weight_loss="before"), [0.5])


# -- schedules ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("tau_schedule", "tau"), [("constant", 5.0), ("linear", 2.5), ("concave", 3.535534), ("convex", 0.625)]
)
def test_example_of_the_schedules(tau_schedule, tau):
    """The third round, t = 2 from 0."""
    config = fedeba.Config(tau=5.0, kappa=0.5, tau_schedule=tau_schedule)
    assert entropy.temperature(2, config) == pytest.approx(tau, abs=1e-6)
    assert entropy.temperature(0, config) == 5.0
    later = replace(reports(), round=2)
    annealed = step("fedeba", later, tau=5.0, kappa=0.5, tau_schedule=tau_schedule)[1]
    close(annealed, (F / tau).softmax(0))
