"""Sentiment classification from the generated reviews to the accuracies of the clients, with a small BERT."""

import pytest
import torch

from fairfl.simulation.clients import load_clients
from fairfl.simulation.simulation import Simulation
from tests.unit.simulation.federations import CPU, prepared_files, spec_of

pytest.importorskip("transformers")

OPTIONS = {"train": [600, 200], "test": [300, 100], "max_tokens": 24}
MODEL = {
    "name": "bert",
    "pretrained": None,
    "hidden": 32,
    "layers": 1,
    "heads": 2,
    "intermediate": 64,
    "vocabulary": 256,
    "positions": 24,
    "init_std": 0.1,
    "dropout": 0.0,
}
PARTITION = {
    "data": {"name": "sentiment", "stands_in_for": "yelp_imdb"},
    "samples": None,
    "clients": 4,
    "partition": {"name": "by_domain", "clients": [3, 1]},
    "partition_seed": None,
    "split": {"train": 1.0, "validation": 0.0, "test": 0.0, "order": "official"},
    "seed": 0,
}


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    data = {"name": "sentiment", "options": OPTIONS}
    return load_clients(*prepared_files(tmp_path_factory.mktemp("reviews"), data, PARTITION), CPU)


def spec(**changes):
    learning = {"batch_size": 16, "local_epochs": 2, "learning_rate": 5e-3, "optimizer": "adamw", "weight_decay": 0.01}
    learning |= {"model": MODEL, "clients_per_round": 4, "rounds": 5, "evaluate_every": 5}
    return spec_of(**learning | changes)


def test_every_client_has_reviews_of_one_domain(clients):
    assert clients.clusters == [0, 0, 0, 1] and clients.shape == (24,) and clients.classes == 2
    assert clients.parts["train"].sizes == [200] * 4 and clients.parts["test"].sizes == [100] * 4
    assert clients.parts["validation"].sizes == [0] * 4
    film = clients.parts["train"].of(3)[0]
    assert not set(film.flatten().tolist()) - {0} <= set(clients.parts["train"].of(0)[0].flatten().tolist())


@pytest.mark.slow
def test_a_small_bert_learns_sentiment(clients):
    run = Simulation(spec(), clients, None, CPU)
    assert type(run.backend).__name__ == "Sequential"
    first, last = run.run().history
    assert first["accuracy_test"].mean() < 0.6
    assert last["accuracy_test"].mean() > 0.8
    assert (last["loss_train"] < first["loss_train"]).all()
    assert last["accuracy_validation"].isnan().all()


@pytest.mark.slow
def test_the_same_run_twice_also_with_dropout(clients):
    dropped = MODEL | {"dropout": 0.1}
    a, b = (Simulation(spec(model=dropped, rounds=1), clients, None, CPU).run() for _ in range(2))
    assert torch.equal(a.x, b.x)
    assert not torch.equal(a.x, Simulation(spec(rounds=1), clients, None, CPU).run().x)
