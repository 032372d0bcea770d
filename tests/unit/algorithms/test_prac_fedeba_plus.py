"""Prac-FedEBA+: the hand-computed two rounds, the stored gradient, both kinds of angle, the engine."""

import pytest
import torch

from fairfl.algorithms.shared import entropy
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import close
from tests.unit.algorithms.two_clients import Run
from tests.unit.simulation.federations import simulation


def run(count=1, **hyperparameters):
    return Run("prac_fedeba_plus", **{"alpha": 0.5, "tau": 2.0, "theta": 15.0} | hyperparameters).rounds(count)


# -- the example -------------------------------------------------------------------------------------------
def test_example_of_the_first_round():
    one = run()
    assert one.plan.direction is None and one.result.extra is None
    close(one.result.weights, [0.212119, 0.787881])
    close(one.x, [-0.408790])
    close(one.state["g_b"], [2.043948])
    close(run(weight_loss="before").state["g_b"], [2.397029])
    close(run(gradient_weights="received").state["g_b"], [2.397029])


def test_example_of_the_second_round():
    two = run(2)
    close(two.reports.loss_received, [0.992344, 3.357186])
    assert entropy.angle(two.reports.loss_received) == pytest.approx(28.532948, abs=1e-6)
    close(two.plan.direction, [2.043948])
    assert two.plan.mix == 0.5
    close(two.reports.x - two.reports.delta, [[-0.470718], [-0.860718]])
    close(two.result.weights, [0.353571, 0.646429])
    close(two.x, [-0.722825])
    close(two.state["aligned"], 1)


def test_example_of_one_local_step_in_the_second_round():
    two = run()
    two.steps = torch.ones_like(two.steps)
    two.rounds()
    close(two.reports.x - two.reports.delta, [[-0.440548], [-0.640548]])


def test_example_of_model_alignment():
    """As if the first round knew a fair gradient already."""
    one = Run("prac_fedeba_plus", alpha=0.5, tau=2.0, theta=45.0)
    one.state["g_b"] = vector(7)
    one.rounds()
    assert one.plan.direction is None
    close(one.result.weights.sum(), 0.5, 1e-12)
    close(one.result.extra, [0.5 * 0.095])
    close(one.x, [-0.251895])
    close(one.state["g_b"], [2.043948])
    close(one.state["aligned"], 0)


# -- the stored gradient -----------------------------------------------------------------------------------


def test_it_is_a_mean_along_paths_of_any_length():
    """Each client's path is divided by its own steps, and by the rate of the round that made it."""
    uneven = run(steps=[1, 3], tau=1e9)
    gradients = vector(-1.0, 3 * (1 + 0.9 + 0.81) / 3)
    close(uneven.state["g_b"], [gradients.mean()])
    uneven.eta = 0.01
    uneven.rounds()
    d = uneven.reports.delta[:, 0] / (0.01 * vector(1, 3))
    close(uneven.state["g_b"], [d.mean()], 1e-6)


# -- the angle ---------------------------------------------------------------------------------------------
def test_the_angle_may_be_that_of_the_last_round():
    """Losses 0.328, 2.952 after the first round: 38.66 degrees; 28.53 at the second round's x."""
    last = {"angle_from": "previous"}
    assert run().state["angle"] == pytest.approx(38.659808, abs=1e-6)
    close(run(weight_loss="before", **last).state["angle"], 38.659808)
    assert run(2, theta=33.0).plan.direction is None
    assert run(2, theta=33.0, **last).plan.direction is not None
    close(run(2, theta=33.0, **last).state["aligned"], 1)
    assert run(2, theta=39.0, **last).plan.direction is None
    assert run(2, theta=39.0, **last).result.extra is not None


# -- limits ------------------------------------------------------------------------------------------------


def test_sizes_are_the_prior_of_every_mean():
    sized = run(2, theta=90.0, prior="size", samples=vector(1, 3))
    d = sized.reports.delta[:, 0] / 2
    close(sized.result.extra, [0.5 * (0.25 * d[0] + 0.75 * d[1])], 1e-12)
    w = (vector(0.25, 0.75).log() + sized.reports.loss_after / 2).softmax(0)
    close(sized.result.weights, 0.5 * w, 1e-12)


# -- the engine --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_in_the_engine_one_full_step_is_fedeba_plus_a_round_later(backend):
    """The direction of each round is the fair gradient at the x before, mixed with the direction of then."""
    keys = {"alpha": 0.4, "weight_loss": "before"}
    run = simulation("prac_fedeba_plus", keys, backend, local_epochs=1, rounds=4)
    exact = simulation("fedeba_plus", keys | {"gradient": "full"}, backend, local_epochs=1, rounds=4)
    mixed = None
    for _ in range(4):
        exact.x = run.x.clone()
        fair = exact.algorithm.configure_clients(exact.state, exact.measure_received([0, 1, 2])).direction
        mixed = fair if mixed is None else 0.6 * fair + 0.4 * mixed
        run.run_round()
        close(run.state["g_b"], mixed, 1e-10)
    assert run.state["aligned"] == 3
