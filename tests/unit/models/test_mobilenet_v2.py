"""MobileNet-v2: torchvision's, its sizes, small images, and batch normalisation in the sequential backend."""

import pytest
import torch
import torchvision
from torch import nn

from fairfl import models
from fairfl.models.mobilenet_v2 import Config, build
from fairfl.simulation import flat_parameters
from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.backends.sequential import Sequential
from fairfl.simulation.clients import Part
from fairfl.simulation.losses import LOSSES

TINY = {"name": "mobilenet_v2", "width": 0.1, "stages": 3, "small_input": True}


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(("outputs", "count"), [(200, 2_480_072), (1000, 3_504_872)])
@pytest.mark.parametrize("small_input", [False, True])
def test_number_of_parameters(outputs, count, small_input):
    """FedEBA+'s on Tiny-ImageNet, and the published one."""
    with torch.device("meta"):
        assert size(build(Config(small_input=small_input), (3, 64, 64), outputs)) == count


def test_outputs_are_those_of_torchvision():
    torch.manual_seed(0)
    ours = build(Config(width=0.25), (3, 32, 32), 10).eval()
    other = torchvision.models.mobilenet_v2(num_classes=10, width_mult=0.25).eval()
    assert list(ours.state_dict()) == list(other.state_dict())
    other.load_state_dict(ours.state_dict())
    images = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(ours(images), other(images))


DATA = Part(
    torch.randn(9, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double(),
    torch.arange(9) % 3,
    torch.tensor([5, 4]),
)


def tiny(dropout=0.0):
    torch.manual_seed(0)
    return models.build(TINY | {"dropout": dropout}, (1, 8, 8), 3).double()


def trained(clients, local, rate, dropout=0.0):
    """The backend and what it has made of each client's model, [m, P + B]."""
    backend = Sequential(tiny(dropout), LOSSES["cross_entropy"], DATA)
    start = flat_parameters.flatten(tiny())
    rates = torch.full([len(clients)], rate, dtype=torch.float64)
    return backend, start - backend.train(Work(clients, start.expand(len(clients), -1), rates), local, 0).delta


def test_a_client_alone_is_torchs_own_training():
    """Parameters, and behind them running means and variances, after two steps on all samples."""
    backend, (x,) = trained([1], LocalTraining(2, None, 0), rate=1e-3)
    reference = tiny()
    optimizer = torch.optim.SGD(reference.parameters(), lr=1e-3)
    inputs, labels = DATA.of(1)
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.cross_entropy(reference(inputs), labels).backward()
        optimizer.step()
    torch.testing.assert_close(x, flat_parameters.flatten(reference))
    alike = reference.eval()(inputs).detach()
    torch.testing.assert_close(backend.forward(x, inputs), alike)
    torch.testing.assert_close(backend.forward(x, inputs[:1]), alike[:1])  # other samples are no matter in evaluation
