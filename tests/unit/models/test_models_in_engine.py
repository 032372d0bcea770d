"""Models in the sequential backend: local steps against plain autograd, running statistics included."""

import pytest
import torch

from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.flat_parameters import bind
from fairfl.simulation.losses import LOSSES
from tests.unit.simulation.federations import CPU, spec_of

BERT = {"name": "bert", "pretrained": None, "hidden": 8, "layers": 2, "heads": 2, "intermediate": 12, "vocabulary": 9,
        "positions": 6, "init_std": 0.5, "dropout": 0.0}  # fmt: skip
IMAGES = {
    "resnet": {"name": "resnet", "widths": [4, 6], "blocks": [1, 1]},
    "batch norm": {"name": "resnet", "widths": [4], "blocks": [1], "norm": "batch", "stem": "cifar"},
    "mobilenet": {"name": "mobilenet_v2", "width": 0.1, "stages": 3, "small_input": True, "dropout": 0.0},
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
TEXTS = {
    "lstm": ({"name": "lstm", "embedding": 3, "hidden": 4, "projection": 2}, "next_word"),
    "two layers": ({"name": "lstm", "embedding": 3, "hidden": 4, "layers": 2, "projection": None}, "next_word"),
    "bert": (BERT, "cross_entropy"),
}
CASES = [(model, loss) for model in IMAGES for loss in ("cross_entropy", "softmax_cross_entropy")]


@pytest.mark.parametrize(("model", "loss"), [*CASES, *((model, loss) for model, (_, loss) in TEXTS.items())])
def test_local_steps_are_those_of_autograd(model, loss):
    """Two full-batch steps of clients of 9 and 6 samples, of four classes."""
    torch.manual_seed(0)
    inputs, labels = torch.randn(15, 1, 8, 8, dtype=torch.float64), torch.arange(15) % 4
    if model in TEXTS:
        inputs = torch.randint(4, (15, 6))
        labels = torch.randint(-1, 4, (15, 6)) if loss == "next_word" else labels
    part = Part(inputs, labels, torch.tensor([9, 6]))
    clients = Clients(dict.fromkeys(("train", "validation", "test"), part), 4, tuple(inputs.shape[1:]))
    spec = spec_of(model=IMAGES[model] if model in IMAGES else TEXTS[model][0], loss=loss, seed=0)
    backend, x = make_backend(spec, clients, "sequential", CPU)
    work = Work([0, 1], x.expand(2, -1), torch.tensor([0.02, 0.03], dtype=torch.float64))
    delta = backend.train(work, LocalTraining(2, None, 0), 0).delta
    for client, rate in enumerate([0.02, 0.03]):
        flat = x.clone()
        parameters = bind(backend.model, flat)
        for _ in range(2):
            torch.autograd.backward(LOSSES[loss].value(backend.model(part.of(client)[0]), part.of(client)[1]).mean())
            with torch.no_grad():
                for parameter in parameters:
                    parameter.sub_(rate * parameter.grad)
                    parameter.grad = None
        torch.testing.assert_close(x - flat, delta[client])
        assert delta[client].any()
    alone = backend.forward(x, inputs[:1])
    torch.testing.assert_close(backend.forward(x, inputs)[:1], alone)  # other samples are no matter in evaluation
