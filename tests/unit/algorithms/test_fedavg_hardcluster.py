"""FedAvg-HardCluster: the hand-computed round, ties, absent members, the engine."""

import pytest
import torch

from fairfl.algorithms import fedavg_hardcluster
from tests.unit.algorithms.quadratics import Run
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import close
from tests.unit.simulation.federations import simulation

CENTRES = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], dtype=torch.float64)
SAMPLES = vector(100, 100, 300)
FIRST = torch.tensor([[1.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
PI = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], dtype=torch.float64)


def play(rounds=1, first=FIRST, pi=PI, centres=CENTRES, samples=SAMPLES, clients=None):
    algorithm = fedavg_hardcluster.HardCluster(fedavg_hardcluster.Config(M=len(first)))
    return Run(algorithm, first, centres, samples, memberships=pi).rounds(rounds, clients)


def test_example():
    run = play()
    close(run.x, [[1.00, 0.91], [0.00, 1.36]])
    close(run.result.weights, [[0.25, 0, 0.75], [0, 1, 0]])


def test_ties_go_to_the_lowest_cluster():
    pi = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3]], dtype=torch.float64)
    assert play(0, first=FIRST[[0, 1, 0]], pi=pi).state["z"].tolist() == [0, 1, 0]


def test_only_sampled_members_count_and_a_cluster_without_any_stays():
    run = play(2, clients=(2,))
    close(run.x[0], CENTRES[2] + 0.8**4 * (FIRST[0] - CENTRES[2]))
    assert torch.equal(run.x[1], FIRST[1])
    assert run.result.weights.tolist() == [[1.0], [0.0]]


# -- the engine --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_in_the_engine_each_client_trains_the_model_of_its_cluster_only(monkeypatch, backend):
    run = simulation("fedavg_hardcluster", {"M": 2}, backend, memberships=PI)
    first, seen = run.x.clone(), []
    train = run.backend.train
    monkeypatch.setattr(run.backend, "train", lambda work, *a, **k: (seen.append(work), train(work, *a, **k))[1])
    run.run_round()
    (work,) = seen
    assert work.clients == [0, 1, 2] and torch.equal(work.start, first[[0, 1, 0]])
    with run.without_gradients():  # as in a round, where what the backend keeps was made
        y = work.start - train(work, run.local, 0).delta
    close(run.x, torch.stack([vector(4, 9) @ y[[0, 2]] / 13, y[1]]), 1e-12)
    measured = run.evaluate("test").loss
    for k, c in enumerate((0, 1, 0)):
        inputs, labels = run.clients.parts["test"].of(k)
        close(measured[k], torch.nn.functional.cross_entropy(run.backend.forward(run.x[c], inputs), labels), 1e-12)
