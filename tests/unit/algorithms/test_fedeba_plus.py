"""FedEBA+ and Prac-FedEBA+: options, dropped clients; their rounds are in test_examples.py."""

from dataclasses import replace

import pytest
import torch

from fairfl.algorithms.fedeba import Config as FedEBA
from fairfl.algorithms.shared import entropy
from tests.unit.algorithms.test_examples import ALIKE, FAIR, PASSES
from tests.unit.algorithms.toy import F, G, close, received, reports, start, told, vector
from tests.unit.plain_engine import on_quadratics
from tests.unit.simulation.federations import simulation


def run(name="fedeba_plus", count=1, **given):
    return on_quadratics(name, **given).rounds(count)


def test_a_plain_pass_with_alpha_1_is_fedavg():
    """D_a is the mean of whole passes; nobody trains a second time."""
    close(run(**ALIKE | PASSES | {"alpha": 1.0, "theta": 90.0}).x, run("fedavg", weighting="uniform").x, 1e-12)


def test_losses_as_shares_weigh_the_toy_of_figure_1_by_27_and_73():
    config = FedEBA(tau=1.0, weight_loss="share")
    for losses, w in ((vector(0.0, 4.5), [0.268941, 0.731059]), (vector(0.0, 0.0), [0.5, 0.5])):
        told_losses = told(torch.zeros(2, 1), loss_after=losses)
        close(entropy.weights(entropy.losses(told_losses, config), told_losses, config), w)


def test_sizes_are_the_prior_of_every_mean():
    sized, prior = {"prior": "size", "samples": (1, 3)}, vector(0.25, 0.75)
    close(run(**FAIR, **sized).plan.direction, [(prior.log() + vector(0.5, 4.5) / 2).softmax(0) @ vector(-1, 3)])
    good = run(**ALIKE, **sized)
    close(good.result.extra, [0.5 * 0.1 * (0.25 * -1 + 0.75 * 3)])
    close(good.result.weights, 0.5 * (prior.log() + good.reports.loss_after / 2).softmax(0))
    close(run(**ALIKE, **sized, aggregation="uniform").result.weights, 0.5 * prior)
    late = run("prac_fedeba_plus", 2, **FAIR | sized | {"theta": 90.0})
    close(late.result.extra, 0.5 * prior @ late.reports.delta / 2, 1e-12)
    close(late.result.weights, 0.5 * (prior.log() + late.reports.loss_after / 2).softmax(0), 1e-12)


@pytest.mark.parametrize("name", ["fedeba_plus", "prac_fedeba_plus"])
def test_a_client_that_is_dropped_leaves_the_branch_by_which_all_have_trained(name):
    """Losses of 0.5, 1 and 2 are 30 degrees from equal ones, those of the first two 18."""
    algorithm, state = start(name, theta=25.0, alpha=0.5)
    state |= {} if name == "fedeba_plus" else {"g_b": G[0], "angle": F[0]}
    plan = algorithm.configure_clients(state, received(reports()))
    assert plan.mix == 0.5
    left = replace(reports(ids=(0, 1)), mix=plan.mix)
    assert entropy.angle(left.loss_received) < 25
    result, state = algorithm.aggregate(state, left)
    assert result.extra is None and state["fair_angle_rounds"] == 1
    close(result.weights.sum(), 1.0, 1e-12)


def test_the_gradient_of_prac_is_a_mean_along_paths_of_any_length():
    """Each client's path is divided by its own steps, and by the rate of the round that made it."""
    uneven = run("prac_fedeba_plus", **FAIR | {"steps": (1, 3), "tau": 1e9})
    close(uneven.state["g_b"], [vector(-1.0, 1 + 0.9 + 0.81).mean()])
    uneven.eta = 0.01
    d = uneven.rounds().reports.delta[:, 0] / (0.01 * vector(1, 3))
    close(uneven.state["g_b"], [d.mean()], 1e-6)


def test_prac_with_one_step_is_fedeba_plus_a_round_later():
    """The direction of each round is the fair gradient at the x before, mixed with the direction of then."""
    given = {"alpha": 0.4, "weight_loss": "before"}
    prac, exact = (on_quadratics(name, steps=1, **given) for name in ("prac_fedeba_plus", "fedeba_plus"))
    mixed = None
    for _ in range(4):
        exact.x = prac.x
        fair = exact.rounds().plan.direction
        mixed = fair if mixed is None else 0.6 * fair + 0.4 * mixed
        close(prac.rounds().state["g_b"], mixed, 1e-10)
    assert prac.state["fair_angle_rounds"] == 3


def test_momentum_counts_rounds_and_not_exchanges():
    def of(**more):
        return simulation("fedeba_plus", {"theta": 0.0, **PASSES}, **more)

    run, plain = of(modifiers={"server_momentum": {"beta": 0.5}}), of()
    first = run.x
    run.run_round()
    plain.x, plain.round, velocity, second = run.x, 1, first - run.x, run.x
    run.run_round()
    plain.run_round()
    close(run.x, plain.x - 0.5 * velocity, 1e-12)
    assert not torch.equal(first, second)
