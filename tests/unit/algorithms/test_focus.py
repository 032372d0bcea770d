"""FOCUS: the ensemble, sizes, sampled rounds; its rounds are in test_examples.py."""

import torch

from fairfl.algorithms import focus
from fairfl.algorithms.interface import Reports
from fairfl.simulation.clients import Part
from fairfl.simulation.evaluation import evaluate
from fairfl.simulation.losses import LOSSES
from tests.unit.algorithms.toy import close, vector
from tests.unit.simulation.federations import simulation


def aggregated(logpi, losses, samples=None, clients=None, **hyperparameters):
    """Weights [M, m] and the next state, for losses [M, m]."""
    M, m = losses.shape
    n = torch.ones(m, dtype=torch.float64) if samples is None else samples
    ids = torch.arange(m) if clients is None else torch.tensor(clients)
    reports = Reports(clients=ids, samples=n, learning_rate=0.1, loss_received=losses, delta=torch.zeros(M, m, 1))
    result, state = focus.Focus(focus.Config(M=M, **hyperparameters)).aggregate({"logpi": logpi}, reports)
    return result.weights, state["logpi"]


def test_example_of_the_ensemble():
    """pi = (1/4, 3/4), probabilities (.7, .2, .1) and (.1, .6, .3), label 1: -log 0.5, not the mean of the losses."""
    models = vector([0.7, 0.2, 0.1], [0.1, 0.6, 0.3]).log()
    deployed = focus.Focus(focus.Config(M=2)).evaluation_models({"logpi": vector(0.25, 0.75).log()[None]}, models)
    part = Part(torch.zeros(1, 1, dtype=torch.float64), torch.tensor([1]), torch.tensor([1]))
    measured = evaluate(lambda x, inputs: x.expand(len(inputs), 3), LOSSES["cross_entropy"], deployed, part, 3)
    close(measured.loss, [0.693147])


def test_sizes_count_only_if_asked_for():
    F, n, start = vector([1.0, 2.0], [2.0, 1.0]), vector(100, 300), vector([0, 0], [0, 0])
    p, q = 0.731059, 0.268941
    close(aggregated(start, F, n)[0], [[p, q], [q, p]])
    a, b = p + 3 * q, q + 3 * p
    close(aggregated(start, F, n, weighting="size")[0], [[p / a, 3 * q / a], [q / b, 3 * p / b]])


def test_only_sampled_clients_count_in_the_models():
    """Eq. (6) over the clients of the round: the same as a federation of these, whatever pi the others have."""
    logpi, F = vector([0.9, 0.1], [0.3, 0.7], [0.5, 0.5]).log(), vector([1.0, 0.2], [0.5, 0.8])
    w, after = aggregated(logpi, F, clients=[2, 0])
    alone, own = aggregated(logpi[[2, 0]], F)
    close(w, alone, 1e-12)
    close(after[[2, 0]], own, 1e-12)
    assert torch.equal(after[1], logpi[1])


def test_who_is_never_drawn_has_a_uniform_mixture():
    """FedEBA+ runs focus with 10 of 100 clients: some are never drawn, all are evaluated."""
    run = simulation("focus", {"M": 3}, clients_per_round=1, rounds=1)
    assert not torch.equal(run.x[0], run.x[1]), "first models differ"
    (drawn,) = run.select_clients()
    run.run_round()
    mixture = run.evaluation_models().mixture
    close(mixture.sum(1), torch.ones(3), 1e-12)
    for k in range(3):
        assert torch.allclose(mixture[k], torch.full((3,), 1 / 3).double()) is (k != drawn)
