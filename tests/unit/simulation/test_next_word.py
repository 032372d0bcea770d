"""Next-word prediction from the text to the accuracies of the clients."""

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.clients import load_clients
from tests.unit.simulation.federations import CPU, prepared_files, spec_of

OPTIONS = {"topics": 3, "sentences": 40, "vocabulary": 60, "length": 12}
MODEL = {"name": "lstm", "embedding": 8, "hidden": 12, "projection": 8}
PARTITION = {
    "data": {"name": "python_text", "stands_in_for": "stackoverflow"},
    "samples": None,
    "clients": 3,
    "partition": {"name": "by_client"},
    "partition_seed": None,
    "split": {"train": 0.5, "validation": 0.0, "test": 0.5, "order": "stored"},
    "seed": 0,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return prepared_files(tmp_path_factory.mktemp("text"), {"name": "python_text", "options": OPTIONS}, PARTITION)


@pytest.fixture(scope="module")
def clients(files):
    return load_clients(*files, CPU)


def spec(**changes):
    learning = {"loss": "next_word", "batch_size": 8, "learning_rate": 1.0, "rounds": 8, "evaluate_every": 4}
    return spec_of(**{"model": MODEL} | learning | changes)


def test_tokens_reach_the_model_as_they_are(files, clients):
    tensors = load_file(files[0])
    assert (clients.count, clients.classes, clients.shape, clients.dtype) == (3, 64, (12,), torch.float32)
    for client in range(3):
        rows = np.flatnonzero(tensors["client"] == client)
        for name, own in (("train", rows[:20]), ("test", rows[20:])):
            inputs, labels = clients.parts[name].of(client)
            assert not inputs.is_floating_point() and labels.dtype == torch.int64
            np.testing.assert_array_equal(inputs.numpy(), tensors["inputs"][own])
            np.testing.assert_array_equal(labels.numpy(), tensors["labels"][own])
    assert load_clients(*files, CPU, torch.float64).parts["test"].inputs.dtype == clients.parts["test"].inputs.dtype


# ---- data, model and loss that do not fit


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "cross_entropy"}, "loss cross_entropy is for one class per sample, the data have one label at each"),
        ({"model": {"name": "mlp", "hidden": [3]}}, "the model reads images or features .* the data are tokens"),
        ({"model": {"name": "cnn"}}, "cnn needs images"),
    ],
)
def test_text_with_a_model_or_loss_of_images(clients, changes, message):
    with pytest.raises(ValueError, match=message):
        make_backend(spec(**changes), clients, "auto", CPU)
