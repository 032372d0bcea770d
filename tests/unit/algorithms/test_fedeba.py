"""FedEBA: which losses count, figure 1, schedules of tau; its examples are in test_examples.py."""

from dataclasses import replace
from math import log

import pytest

from fairfl.algorithms import fedeba
from fairfl.algorithms.shared import entropy
from tests.unit.algorithms.toy import F, close, reports, start, step, vector


@pytest.mark.parametrize(("weight_loss", "other"), [("after", "loss_received"), ("before", "loss_after")])
def test_losses_that_a_client_does_not_go_by_do_not_count(weight_loss, other):
    _, weights, state = step("fedeba", replace(reports(), **{other: -F}), tau=1.0, weight_loss=weight_loss)
    close(weights, F.softmax(0))
    assert state == {}


def test_figure_1():
    """F_1 = 2 (x - 2)^2 and F_2 = (x + 4)^2 / 2 take one step of 1/4 from 0, to 2 and -1; their losses were equal."""
    losses = {"loss_received": vector(8, 8), "loss_after": vector(0, 4.5)}
    report = replace(reports(ids=(0, 1)), delta=vector(-2, 1)[:, None], **losses)

    def moved(**hyperparameters):
        algorithm, state = start("fedeba", **hyperparameters)
        return -algorithm.aggregate(state, report)[0].weights @ report.delta

    close(moved(tau=4.5 / log(7 / 3)), [-0.1])
    close(moved(tau=1.0), [-0.967], 5e-4)
    close(moved(tau=1.0, weight_loss="before"), [0.5])


@pytest.mark.parametrize(
    ("tau_schedule", "tau"), [("constant", 5.0), ("linear", 2.5), ("concave", 3.535534), ("convex", 0.625)]
)
def test_example_of_the_schedules(tau_schedule, tau):
    """The third round, t = 2 from 0."""
    given = {"tau": 5.0, "kappa": 0.5, "tau_schedule": tau_schedule}
    assert entropy.temperature(0, fedeba.Config(**given)) == 5.0
    assert entropy.temperature(2, fedeba.Config(**given)) == pytest.approx(tau, abs=1e-6)
    close(step("fedeba", replace(reports(), round=2), **given)[1], (F / tau).softmax(0))


def test_angle():
    assert entropy.angle(vector(0.5, 4.5)) == pytest.approx(38.659808, abs=1e-6)
    assert entropy.angle(vector(*[0] * 9, 3)) == pytest.approx(71.565051, abs=1e-6)  # the largest of ten clients
