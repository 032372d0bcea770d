"""Convolutional models in the engine: steps against plain autograd, outputs beyond the classes. float64."""

import pytest
import torch

from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.flat_parameters import bind
from fairfl.simulation.losses import LOSSES
from tests.unit.simulation.federations import spec_of

MODELS = {
    "resnet": {"name": "resnet", "widths": [4, 6], "blocks": [1, 1]},
    "own blocks": {
        "name": "cnn",
        "channels": [3, 4],
        "kernel": [3, 2],
        "padding": [1, 0],
        "pool": [4, 1],
        "hidden": [],
    },
    "no activation": {"name": "cnn", "channels": [3, 4], "padding": 1, "hidden": [6, 5], "activation": "none"},
    "more outputs": {"name": "cnn", "channels": [3], "hidden": 5, "outputs": 7},
    "relu at the end": {"name": "cnn", "channels": [3], "hidden": 5, "outputs": 7, "output_activation": "relu"},
}
CLASSES = 4
CPU = torch.device("cpu")


def clients(held_out):
    """Two clients; only the first has anything in the test part, or nobody."""
    torch.manual_seed(0)

    def part(counts):
        inputs = torch.randn(sum(counts), 1, 8, 8, dtype=torch.float64)
        return Part(inputs, torch.arange(sum(counts)) % CLASSES, torch.tensor(counts))

    return Clients({"train": part([9, 6]), "validation": part([0, 0]), "test": part(held_out)}, CLASSES, (1, 8, 8))


def backend_of(model, loss, held_out=(5, 0)):
    federation = clients(list(held_out))
    spec = spec_of(model=MODELS[model], loss=loss, seed=0)
    return *make_backend(spec, federation, "auto", CPU), federation


@pytest.mark.parametrize("loss", ["cross_entropy", "softmax_cross_entropy"])
@pytest.mark.parametrize("model", MODELS)
def test_a_local_step_is_that_of_autograd(model, loss):
    backend, x, federation = backend_of(model, loss)
    work = Work([0, 1], x.expand(2, -1), torch.tensor([0.2, 0.3], dtype=torch.float64))
    delta = backend.train(work, LocalTraining(1, None, 0), 0).delta
    for client, rate in enumerate([0.2, 0.3]):
        flat = x.clone()
        parameters = bind(backend.model, flat)
        inputs, labels = federation.parts["train"].of(client)
        torch.autograd.backward(LOSSES[loss].value(backend.model(inputs), labels).mean())
        with torch.no_grad():
            for parameter in parameters:
                parameter.sub_(rate * parameter.grad)
                parameter.grad = None
        torch.testing.assert_close(x - flat, delta[client])
        assert delta[client].any()
