"""FedAvg-HardCluster: the hand-computed round, limits, absent members, missing memberships, the engine."""

import pytest
import torch

from fairfl import algorithms
from fairfl.algorithms import fedavg_hardcluster
from fairfl.algorithms.interface import Federation
from fairfl.experiments.declaration import declaration
from fairfl.runtime.errors import FairflError
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


def test_clients_start_at_the_model_of_their_cluster_and_are_evaluated_with_it():
    run = play(0)
    assert run.state["z"].tolist() == [0, 1, 0]
    received = run.algorithm.evaluation_models(run.state, run.x)
    assert torch.equal(received.models, FIRST)
    assert received.mixture.tolist() == [[1, 0], [0, 1], [1, 0]] and received.mixture.dtype == torch.float64


def test_ties_go_to_the_lowest_cluster():
    pi = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3]], dtype=torch.float64)
    assert play(0, first=FIRST[[0, 1, 0]], pi=pi).state["z"].tolist() == [0, 1, 0]


@pytest.mark.parametrize("first", [FIRST[:1], FIRST])
def test_one_cluster_is_fedavg(first):
    fedavg = algorithms.create("fedavg", {})
    pi = torch.eye(len(first), dtype=torch.float64)[:1].expand(3, -1)
    plain = Run(fedavg, FIRST[0], CENTRES, SAMPLES).rounds(3)
    run = play(3, first=first, pi=pi)
    close(run.x[0], plain.x, 1e-12)
    assert torch.equal(run.x[1:], first[1:]), "nobody trains an empty cluster"


def test_a_cluster_for_each_client_is_local_training():
    first = torch.tensor([[1.0, 1.0], [0.0, 1.0], [3.0, 3.0]], dtype=torch.float64)
    run = play(3, first=first, pi=torch.eye(3, dtype=torch.float64))
    close(run.x, CENTRES + 0.8**6 * (first - CENTRES), 1e-12)


def test_only_sampled_members_count_and_a_cluster_without_any_stays():
    run = play(2, clients=(2,))
    close(run.x[0], CENTRES[2] + 0.8**4 * (FIRST[0] - CENTRES[2]))
    assert torch.equal(run.x[1], FIRST[1])
    assert run.result.weights.tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize(
    ("pi", "found"),
    [
        (None, "there are none"),
        (PI.new_full((3, 3), 1 / 3), r"they are \[3, 3\]"),
        (PI[:2], r"they are \[2, 2\]"),
    ],
)
def test_memberships_are_needed(pi, found):
    with pytest.raises(FairflError, match=rf"fedavg_hardcluster: needs the memberships \[3, 2\] of a focus .*{found}"):
        fedavg_hardcluster.HardCluster(fedavg_hardcluster.Config(M=2)).init_state(
            Federation(SAMPLES, FIRST, memberships=pi)
        )


def test_it_comes_after_a_focus_run_with_the_same_number_of_models():
    assert declaration("algorithms", "fedavg_hardcluster").depends_on == ("focus", ("M",))
    focus = declaration("algorithms", "focus").Config
    assert set(fedavg_hardcluster.HardCluster.depends_on[1]) <= set(focus.model_fields) & set(
        fedavg_hardcluster.Config.model_fields
    )


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


def test_in_the_engine_a_client_is_sent_the_model_of_its_cluster_only():
    run = simulation("fedavg_hardcluster", {"M": 2}, memberships=PI)
    run.run()
    assert run.measures()["comm_extra_cost"] == 0  # beyond FedAvg's


def test_in_the_engine_what_focus_deploys_can_be_taken():
    focus = simulation("focus", {"M": 2}, rounds=2)
    focus.run()
    mixture = focus.evaluation_models().mixture
    run = simulation("fedavg_hardcluster", {"M": 2}, memberships=mixture)
    assert torch.equal(run.state["z"], mixture.argmax(1))
    run.run()
