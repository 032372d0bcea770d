"""focus: the hand-computed two rounds and ensemble, sampled rounds, the engine."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from fairfl.algorithms import focus
from fairfl.algorithms.interface import Reports
from fairfl.simulation.clients import Part
from fairfl.simulation.evaluation import evaluate
from fairfl.simulation.losses import LOSSES
from tests.unit.algorithms.quadratics import Run
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import close
from tests.unit.simulation.federations import simulation

# F_k(w) = ||w - c_k||^2
CENTRES = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
FIRST = torch.tensor([[1.0, 1.0], [0.0, 1.0]], dtype=torch.float64)


def play(rounds=1, first=FIRST, centres=CENTRES, samples=None, clients=None, **hyperparameters):
    algorithm = focus.Focus(focus.Config(**{"M": len(first)} | hyperparameters))
    return Run(algorithm, first, centres, samples).rounds(rounds, clients)


def pi(run):
    return run.algorithm.evaluation_models(run.state, run.x).mixture


def aggregated(logpi, losses, samples=None, clients=None, **hyperparameters):
    """Weights [M, m] and the next state, for losses [M, m]."""
    M, m = losses.shape
    n = torch.ones(m, dtype=torch.float64) if samples is None else samples
    ids = torch.arange(m) if clients is None else torch.tensor(clients)
    reports = Reports(clients=ids, samples=n, learning_rate=0.1, loss_received=losses, delta=torch.zeros(M, m, 1))
    result, state = focus.Focus(focus.Config(M=M, **hyperparameters)).aggregate({"logpi": logpi}, reports)
    return result.weights, state["logpi"]


# -- the example -------------------------------------------------------------------------------------------
def test_example():
    first = play(0)
    close(first.losses(first.x[:, None].expand(2, 2, 2), torch.arange(2)), [[1, 2], [2, 1]])
    close(pi(first), [[0.5, 0.5], [0.5, 0.5]])
    one = play(1)
    close(pi(one), [[0.731059, 0.268941], [0.268941, 0.731059]])
    close(one.x, [[0.903181, 0.833638], [0.096819, 1.166362]])
    close(one.losses(one.x[:, None].expand(2, 2, 2), torch.arange(2)), [[0.704326, 2.176137], [2.176137, 0.704326]])
    two = play(2)
    close(pi(two), [[0.922142, 0.077858], [0.077858, 0.922142]])
    close(two.x, [[0.910007, 0.589586], [0.089993, 1.410414]])


def test_example_of_the_ensemble():
    """pi = (1/4, 3/4), probabilities (.7, .2, .1) and (.1, .6, .3), label 1: -log 0.5, not the mean of the losses."""
    models = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]], dtype=torch.float64).log()
    deployed = focus.Focus(focus.Config(M=2)).evaluation_models({"logpi": vector(0.25, 0.75).log()[None]}, models)
    part = Part(torch.zeros(1, 1, dtype=torch.float64), torch.tensor([1]), torch.tensor([1]))
    measured = evaluate(lambda x, inputs: x.expand(len(inputs), 3), LOSSES["cross_entropy"], deployed, part, 3)
    close(measured.loss, [0.693147])


# -- weights -----------------------------------------------------------------------------------------------
def test_sizes_count_only_if_asked_for():
    F, n = torch.tensor([[1.0, 2.0], [2.0, 1.0]], dtype=torch.float64), vector(100, 300)
    start = torch.zeros(2, 2, dtype=torch.float64)
    p, q = 0.731059, 0.268941
    close(aggregated(start, F, n)[0], [[p, q], [q, p]])
    a, b = p + 3 * q, q + 3 * p
    close(aggregated(start, F, n, weighting="size")[0], [[p / a, 3 * q / a], [q / b, 3 * p / b]])


def test_only_sampled_clients_count_in_the_models():
    """Eq. (6) over the clients of the round: the same as a federation of these, whatever pi the others have."""
    logpi = torch.tensor([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]], dtype=torch.float64).log()
    F = torch.tensor([[1.0, 0.2], [0.5, 0.8]], dtype=torch.float64)
    w, after = aggregated(logpi, F, clients=[2, 0])
    alone, own = aggregated(logpi[[2, 0]], F)
    close(w, alone, 1e-12)
    close(after[[2, 0]], own, 1e-12)
    assert torch.equal(after[1], logpi[1])


# -- the engine --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
@pytest.mark.parametrize("batch_size", [None, 3])
def test_the_engine_measures_the_models_of_the_start_of_the_round(backend, batch_size):
    run = simulation("focus", {"M": 2}, backend, batch_size=batch_size)
    first = run.x.clone()
    assert not torch.equal(first[0], first[1]), "first models differ"
    run.run_round()
    for k in range(3):
        inputs, labels = run.clients.parts["train"].of(k)
        losses = [cross_entropy(run.backend.forward(x, inputs), labels) for x in first]
        close(run.state["logpi"][k].exp(), torch.softmax(-torch.stack(losses), dim=0), 1e-12)


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_in_the_engine_everybody_predicts_with_the_mixture_under_partial_participation(backend):
    """FedEBA+ runs focus with 10 of 100 clients: some are never drawn, all are evaluated."""
    run = simulation("focus", {"M": 3}, backend, clients_per_round=1, seed=4)
    drawn = set()
    for _ in range(2):
        before = run.state["logpi"].clone()
        (sampled,) = run.select_clients()
        drawn.add(sampled)
        run.run_round()
        absent = [k for k in range(3) if k != sampled]
        assert torch.equal(run.state["logpi"][absent], before[absent])
        assert not torch.equal(run.state["logpi"][sampled], before[sampled])
    mixture, never = run.evaluation_models().mixture, [k for k in range(3) if k not in drawn]
    close(mixture.sum(1), torch.ones(3), 1e-12)
    assert len(never) == 1
    close(mixture[never], torch.full((1, 3), 1 / 3, dtype=torch.float64), 1e-12)
    measured = run.evaluate("test")
    for k in range(3):
        inputs, labels = run.clients.parts["test"].of(k)
        mixed = sum(
            share * run.backend.forward(w, inputs).softmax(1) for share, w in zip(mixture[k], run.x, strict=True)
        )
        close(measured.loss[k], -mixed.gather(1, labels[:, None]).log().mean(), 1e-12)
