"""Sentiment classification from the generated reviews to the accuracies of the clients, with a small BERT."""

import pytest

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


@pytest.mark.slow
def test_a_small_bert_learns_sentiment(clients):
    run = Simulation(spec(), clients, None, CPU)
    assert type(run.backend).__name__ == "Sequential"
    first, last = run.run().history
    assert first["accuracy_test"].mean() < 0.6
    assert last["accuracy_test"].mean() > 0.8
    assert (last["loss_train"] < first["loss_train"]).all()
    assert last["accuracy_validation"].isnan().all()
