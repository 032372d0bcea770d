"""MobileNet-v2: torchvision's, its sizes, small images, and batch normalisation in the sequential backend."""

import importlib.util
import sys

import pytest
import torch
import torchvision
from pydantic import ValidationError
from torch import nn

from fairfl import models
from fairfl.experiments.declaration import declaration
from fairfl.models import mobilenet_v2
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


def test_small_input_keeps_the_image_four_times_as_large():
    shapes = {}
    for small in (False, True):
        stages = build(Config(width=0.1, small_input=small), (3, 32, 32), 10).features
        images, shapes[small] = torch.randn(2, 3, 32, 32), []
        for stage in stages:
            images = stage(images)
            shapes[small].append(images.shape[-1])
    assert shapes[False] == [16, 16, 8, 8, 4, 4, 4, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1]
    assert shapes[True] == [32, 32, 32, 32, 16, 16, 16, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4]


@pytest.mark.parametrize("stages", range(2, 8))
def test_the_first_stages_alone(stages):
    """They are those of the whole network; what comes after them follows from their channels."""
    few, all_of_them = (build(Config(width=0.25, stages=n), (3, 32, 32), 10).features for n in (stages, 7))
    blocks = sum(stage[2] for stage in mobilenet_v2.STAGES[:stages])
    assert len(few) == 1 + blocks + 1
    assert [str(block) for block in few[:-1]] == [str(block) for block in all_of_them[: 1 + blocks]]
    assert few[-1][0].out_channels == 1280


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("edge", [1, 8, 9])
@pytest.mark.parametrize("small_input", [False, True])
def test_small_and_few_images(channels, edge, small_input):
    shape = (channels, edge, edge)
    model = models.build(TINY | {"small_input": small_input}, shape, 3)
    assert model(torch.zeros(5, *shape)).shape == (5, 3)
    for count in (0, 1):
        assert model.eval()(torch.zeros(count, *shape)).shape == (count, 3)


def test_initial_values():
    """torchvision's: He normal, fan-out; norms start as no change; the head is N(0, 0.01) with a bias of 0."""
    torch.manual_seed(0)
    model = build(Config(small_input=True), (2, 32, 32), 100)
    for layer in (model.features[0][0], model.features[-1][0]):
        fan_out = layer.weight.numel() / layer.weight.shape[1]
        assert layer.weight.std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=0.1)
    head = model.classifier[1]
    assert head.weight.std().item() == pytest.approx(0.01, rel=0.02) and not head.bias.any()
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert len(norms) == 52
    assert all((layer.weight == 1).all() and (layer.running_var == 1).all() for layer in norms)


def test_dropout_is_before_the_head():
    model = models.build(TINY | {"dropout": 0.5}, (1, 8, 8), 3)
    assert [type(layer) for layer in model.classifier] == [nn.Dropout, nn.Linear]
    assert model.classifier[0].p == 0.5
    assert sum(isinstance(layer, nn.Dropout) for layer in model.modules()) == 1


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


def test_training_lowers_the_loss():
    backend, (x,) = trained([0], LocalTraining(40, None, 0), rate=0.05)
    inputs, labels = DATA.of(0)
    models = (flat_parameters.flatten(tiny()), x)
    before, after = (nn.functional.cross_entropy(backend.forward(model, inputs), labels) for model in models)
    assert after < before


def test_dropout_falls_back_on_the_run():
    """The same whatever the state of torch's generator is, and other than without dropout."""
    found = []
    for dropout in (0.5, 0.5, 0.0):
        torch.manual_seed(len(found))
        found.append(trained([0, 1], LocalTraining(1, 3, 0), rate=0.1, dropout=dropout)[1])
    assert torch.equal(found[0], found[1])
    assert not torch.allclose(found[0], found[2])


def test_torchvision_is_imported_by_those_who_build_it(monkeypatch):
    """It takes a second; a warm start has it ready, by what the file declares."""
    (library,) = declaration("models", "mobilenet_v2").LIBRARIES
    assert library == torchvision.models.mobilenetv2.__name__
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.setitem(sys.modules, "torchvision.models", None)
    spec = importlib.util.spec_from_file_location("again", mobilenet_v2.__file__)
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    with pytest.raises(ImportError):
        again.build(again.Config(), (1, 8, 8), 3)


@pytest.mark.parametrize(("key", "value", "needed"), [("width", 0.5, 1.0), ("stages", 6, 7)])
def test_published_weights_are_of_the_whole_network(key, value, needed):
    with pytest.raises(ValidationError, match=f"{key} is {value}, the weights of pretrained: imagenet are of {needed}"):
        Config(pretrained="imagenet", **{key: value})
    assert Config(width=0.5, pretrained="mine.pth").pretrained == "mine.pth"
