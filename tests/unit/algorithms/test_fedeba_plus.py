"""FedEBA+: hand-computed examples of both alignments, the fair angle, options, the engine."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from fairfl.algorithms.interface import Plan
from fairfl.algorithms.shared import entropy
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import F, G, close, received, reports, start
from tests.unit.algorithms.two_clients import Run
from tests.unit.simulation.federations import simulation

# Three clients of the toy, which have taken one local step.
TOY = replace(reports(), gradient=G, steps=torch.ones_like(F))
GRADIENT, MODEL = {"theta": 0.0}, {"theta": 90.0}


def run(steps=2, **hyperparameters):
    return Run("fedeba_plus", steps=steps, **{"alpha": 0.5, "tau": 2.0} | hyperparameters).rounds()


def aligned(**hyperparameters):
    """Plan, Aggregate and state of a first round of the toy."""
    algorithm, state = start("fedeba_plus", **hyperparameters)
    plan = algorithm.configure_clients(state, received(TOY))
    return plan, *algorithm.aggregate(state, replace(TOY, mix=plan.mix))


# -- the examples ------------------------------------------------------------------------------------------
def test_angle():
    assert entropy.angle(vector(0.5, 4.5)) == pytest.approx(38.659808, abs=1e-6)
    assert entropy.angle(vector(*[0] * 9, 3)) == pytest.approx(71.565051, abs=1e-6)  # the largest of ten clients


def test_example_of_gradient_alignment():
    fair = run(theta=15.0)
    close(fair.plan.direction, [2.523188])
    assert fair.plan.mix == 0.5
    close(fair.reports.delta, [[0.148511], [0.538511]])
    close(run(theta=15.0, steps=1).reports.delta, [[0.076159], [0.276159]])
    close(fair.reports.loss_after, [0.659539, 3.029464])
    close(fair.result.weights, [0.234161, 0.765839])
    assert fair.result.extra is None
    close(fair.x, [-0.447188])
    close(run(theta=15.0, weight_loss="before").x, [-0.492022])


def test_example_of_model_alignment():
    good = run(theta=45.0)
    assert good.plan.direction is None
    close(good.reports.delta, [[-0.19], [0.57]])
    close(good.reports.loss_after, [0.328050, 2.952450])
    close(good.result.weights, [0.5 * 0.212119, 0.5 * 0.787881])
    close(good.result.extra, [0.5 * 0.1])
    close(good.x, [-0.254395])
    close(run(theta=45.0, weight_loss="before").x, [-0.289703])


# -- the readings of "one local update" and its aggregation --------------------------------------------------
LOCAL_EPOCH = {"gradient": "local_epoch", "fair_weights": "after"}


def test_example_of_a_plain_pass_before_the_aligned_one():
    """Plain: D' = (-0.19, 0.57), A = (0.32805, 2.95245); g = D' / 0.2, w~ = softmax(A / 2) = (0.212119, 0.787881)."""
    fair = run(theta=15.0, **LOCAL_EPOCH)
    close(fair.plan.direction, [2.043948])
    assert fair.plan.mix == 0.5
    close(fair.reports.delta, [[0.101785], [0.491785]])
    close(fair.result.weights, [0.219377, 0.780623])
    close(fair.x, [-0.406228])
    assert fair.state.keys() == {"aligned"} and fair.state["aligned"] == 1


def test_a_fair_round_aligns_the_model_with_the_plain_pass():
    """D_a is the mean of whole passes, so that alpha = 1 is FedAvg; nobody trains a second time."""
    good = run(theta=45.0, **LOCAL_EPOCH)
    assert good.plan.epochs == 0 and good.result.weights is None
    close(good.x, [-(0.5 * (0.212119 * -0.19 + 0.787881 * 0.57) + 0.5 * 0.19)])
    assert good.state["aligned"] == 0
    close(run(alpha=1.0, theta=90.0, **LOCAL_EPOCH).x, Run("fedavg", weighting="uniform").rounds().x, 1e-12)


@pytest.mark.parametrize(
    ("keys", "direction"),
    [
        ({"fair_weights": "uniform"}, (-1 + 3) / 2),
        ({"fair_weights": "before"}, 2.523188),
        ({"gradient": "local_epoch", "fair_weights": "uniform"}, (-0.95 + 2.85) / 2),
        ({"gradient": "local_epoch", "fair_weights": "before"}, 0.95 * 2.523188),
        ({"fair_weights": "before", "tau_fair": 1e12}, 1),
        ({"fair_weights": "before", "tau_fair": 1e-3}, 3),
        (LOCAL_EPOCH | {"tau_fair": 1e-3}, 2.85),
    ],
)
def test_weights_of_the_fair_gradient(keys, direction):
    close(run(theta=15.0, **keys).plan.direction, [direction])


# -- options -----------------------------------------------------------------------------------------------


def test_sizes_are_the_prior_of_every_mean():
    n = vector(1, 3)
    fair = run(theta=15.0, prior="size", samples=n)
    w = (vector(0.25, 0.75).log() + vector(0.5, 4.5) / 2).softmax(0)
    close(fair.plan.direction, [w @ vector(-1, 3)])
    good = run(theta=45.0, prior="size", samples=n)
    close(good.result.extra, [0.5 * 0.1 * (0.25 * -1 + 0.75 * 3)])
    close(good.result.weights, 0.5 * (vector(0.25, 0.75).log() + good.reports.loss_after / 2).softmax(0))
    close(run(theta=45.0, prior="size", samples=n, aggregation="uniform").result.weights, [0.125, 0.375])


def test_rounds_of_gradient_alignment_are_counted():
    """Two clients at equal distance from x have equal losses: no gradient alignment from then on."""
    close(run(theta=15.0).state["aligned"], 1)
    close(run(theta=45.0).state["aligned"], 0)
    both = Run("fedeba_plus", theta=15.0, tau=2.0, eta=0.1).rounds(30)
    assert 1 < both.state["aligned"] < 30 and both.plan.direction is None
    assert both.state["aligned"].dtype == torch.float64


@pytest.mark.parametrize("name", ["fedeba_plus", "prac_fedeba_plus"])
def test_a_client_that_is_dropped_leaves_the_branch_by_which_all_have_trained(name):
    """Losses of 0.5, 1 and 2 are 30 degrees from equal ones, those of the first two 18."""
    algorithm, state = start(name, theta=25.0, alpha=0.5)
    state |= {} if name == "fedeba_plus" else {"g_b": G[0], "angle": F[0]}
    plan = algorithm.configure_clients(state, received(TOY))
    assert plan.mix == 0.5
    left = replace(reports(ids=(0, 1)), mix=plan.mix)
    assert entropy.angle(left.loss_received) < 25
    result, state = algorithm.aggregate(state, left)
    assert result.extra is None and state["aligned"] == 1
    close(result.weights.sum(), 1.0, 1e-12)


# -- the engine --------------------------------------------------------------------------------------------
def losses_of(run, models):
    """Mean training loss of model k on the samples of client k, [m]."""
    train = run.clients.parts["train"]
    return torch.stack(
        [cross_entropy(run.backend.forward(y, train.of(k)[0]), train.of(k)[1]) for k, y in enumerate(models)]
    )


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
@pytest.mark.parametrize("theta", [0.0, 90.0])
def test_the_engine_against_a_plain_loop(backend, theta):
    alpha, tau, eta, steps = 0.6, 0.2, 0.1, 2
    keys = {"alpha": alpha, "tau": tau, "theta": theta, "gradient": "full"}
    run = simulation("fedeba_plus", keys, backend)
    train, x = run.clients.parts["train"], run.x.clone()

    def loss(w, k):
        inputs, labels = train.of(k)
        return cross_entropy(inputs.flatten(1) @ w[:12].view(3, 4).T + w[12:], labels)

    def gradient(w, k):
        w = w.clone().requires_grad_()
        return torch.autograd.grad(loss(w, k), w)[0]

    for _ in range(3):
        F, g = torch.stack([loss(x, k) for k in range(3)]), torch.stack([gradient(x, k) for k in range(3)])
        fair = (F / tau).softmax(0) @ g
        mix = alpha if theta == 0 else 0.0
        models = []
        for k in range(3):
            y = x
            for _ in range(steps):
                y = y - eta * ((1 - mix) * gradient(y, k) + mix * fair)
            models.append(y)
        A = torch.stack([loss(y, k) for k, y in enumerate(models)])
        updates = (A / tau).softmax(0) @ (x - torch.stack(models))
        x = x - (updates if theta == 0 else (1 - alpha) * updates + alpha * eta * g.mean(0))
    close(run.run().x, x, 1e-12)
    assert run.state["aligned"] == (3 if theta == 0 else 0)


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
@pytest.mark.parametrize("modifier", [{}, {"server_momentum": {"beta": 0.5}}])
def test_the_engine_trains_twice_and_steps_once(backend, modifier):
    """Momentum counts rounds, not exchanges; both passes see the same batches from the same model."""
    alpha, tau, eta = 0.6, 0.2, 0.1
    keys = {"alpha": alpha, "tau": tau, "gradient": "local_epoch", "fair_weights": "after"}
    run = simulation("fedeba_plus", keys, backend, modifiers=modifier)
    plain = simulation("fedavg", {}, backend)
    clients, x, v = [0, 1, 2], run.x.clone(), torch.zeros_like(run.x)
    for round in range(3):
        plain.x, plain.round = x, round
        trial = plain.train(clients, Plan())
        g_b = (losses_of(plain, trial.models) / tau).softmax(0) @ (trial.moved / (eta * trial.steps[:, None]))
        second = plain.train(clients, Plan(mix=alpha, direction=g_b))
        v = modifier.get("server_momentum", {"beta": 0.0})["beta"] * v
        v = v + (losses_of(plain, second.models) / tau).softmax(0) @ second.moved
        x = x - v
    close(run.run().x, x, 1e-12)
    assert run.state["aligned"] == 3
