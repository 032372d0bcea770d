"""The residual network against torchvision's, and its initial values."""

import pytest
import torch
import torchvision
from pydantic import ValidationError
from torch import nn

from fairfl import models
from fairfl.models.resnet import Config, SameSize, build

SMALL = {"name": "resnet", "widths": [4, 6], "blocks": [1, 2]}


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("norm", ["group", "batch"])
@pytest.mark.parametrize(
    ("stem", "classes", "count"),
    [
        ("imagenet", 10, 11_181_642),
        ("imagenet", 100, 11_227_812),
        ("cifar", 10, 11_173_962),
        ("cifar", 100, 11_220_132),
    ],
)
def test_number_of_parameters(norm, stem, classes, count):
    with torch.device("meta"):
        model = build(Config(norm=norm, stem=stem), (3, 32, 32), classes)
    assert size(model) == count
    assert bool(list(model.buffers())) == (norm == "batch")


def test_running_statistics_of_resnet_18():
    """A mean and a variance for each channel of each of the 20 normalisations."""
    with torch.device("meta"):
        model = build(Config(norm="batch", stem="cifar"), (3, 32, 32), 10)
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    channels = 5 * [64] + 5 * [128] + 5 * [256] + 5 * [512]
    assert sorted(layer.num_features for layer in norms) == channels
    assert sum(buffer.numel() for buffer in model.buffers() if buffer.is_floating_point()) == 2 * sum(channels)


def made_equal(own_model, other_model):
    """All parameters of the first into the second; norms that change nothing would hide which is which."""
    with torch.no_grad():
        for own, other in zip(own_model.parameters(), other_model.parameters(), strict=True):
            if own.dim() == 1:
                own.add_(0.1 * torch.randn_like(own))
            assert own.shape == other.shape
            other.copy_(own)


@pytest.mark.parametrize("edge", [32, 33, 64])
def test_outputs_are_those_of_torchvision(edge):
    torch.manual_seed(0)
    ours = build(Config(), (3, 32, 32), 10).double()
    other = torchvision.models.resnet18(num_classes=10, norm_layer=lambda channels: nn.GroupNorm(2, channels)).double()
    made_equal(ours, other)
    images = torch.randn(2, 3, edge, edge).double()
    with torch.no_grad():
        torch.testing.assert_close(ours(images), other(images))


@pytest.mark.parametrize("stem", ["imagenet", "cifar"])
def test_batch_normalisation_is_that_of_torchvision(stem):
    """In training, in evaluation, and in the running statistics that the one leaves to the other."""
    torch.manual_seed(0)
    ours = build(Config(norm="batch", stem=stem, blocks=[1, 1, 1, 1]), (3, 8, 8), 10).double()
    other = torchvision.models.ResNet(torchvision.models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=10)
    if stem == "cifar":
        other.conv1, other.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    other = other.double()
    made_equal(ours, other)
    images = torch.randn(3, 3, 8, 8).double()
    with torch.no_grad():
        trained = ours(images)
        torch.testing.assert_close(trained, other(images))
        for own, given in zip(ours.buffers(), other.buffers(), strict=True):
            torch.testing.assert_close(own, given)
        ours.eval(), other.eval()
        evaluated = ours(images)
        torch.testing.assert_close(evaluated, other(images))
        assert not torch.allclose(trained, evaluated)
        torch.testing.assert_close(ours(images[:1]), evaluated[:1])  # other samples are no matter now


def test_batch_normalisation_starts_as_no_change_with_the_defaults_of_torch():
    for layer in build(Config(norm="batch", widths=[5], blocks=[1]), (1, 8, 8), 2).modules():
        if isinstance(layer, nn.BatchNorm2d):
            assert (layer.eps, layer.momentum) == (1e-5, 0.1)
            assert (layer.weight == 1).all() and (layer.bias == 0).all()
            assert (layer.running_mean == 0).all() and (layer.running_var == 1).all()


def test_initial_values():
    """He normal, fan-out: standard deviation sqrt(2 / (channels out x kernel area)). Norms start as no change."""
    torch.manual_seed(0)
    for layer in build(Config(widths=[64, 128], blocks=[1, 1]), (3, 32, 32), 10).modules():
        if isinstance(layer, nn.Conv2d):
            channels, _, height, width = layer.weight.shape
            expected = (2 / (channels * height * width)) ** 0.5
            assert layer.weight.std().item() == pytest.approx(expected, rel=0.03)
            assert abs(layer.weight.mean().item()) < 0.05 * expected
        if isinstance(layer, nn.GroupNorm):
            assert (layer.num_groups, layer.eps) == (2, 1e-5)
            assert (layer.weight == 1).all() and (layer.bias == 0).all()


@pytest.mark.parametrize("stride", [1, 2])
def test_an_image_of_one_pixel_meets_the_middle_of_the_kernel_alone(stride, monkeypatch):
    """The result and all gradients of the whole convolution, which is not called."""
    layer = SameSize(5, 7, 3, stride).double()
    x = torch.randn(4, 5, 1, 1, dtype=torch.float64, requires_grad=True)
    ways = [nn.functional.conv2d(x, layer.weight, stride=stride, padding=1)]
    with monkeypatch.context() as patch:
        patch.setattr(nn.Conv2d, "forward", None)
        ways.append(layer(x))
    results = [(way, *torch.autograd.grad(way.square().sum(), [x, layer.weight])) for way in ways]
    for whole, middle in zip(*results, strict=True):
        assert whole.shape == middle.shape
        torch.testing.assert_close(whole, middle)


def test_the_stem_of_cifar_keeps_the_size_of_the_image():
    halved, whole = (build(Config(stem=stem, widths=[4], blocks=[1]), (1, 8, 8), 2) for stem in ("imagenet", "cifar"))
    images = torch.randn(1, 1, 8, 8)
    assert halved[:4](images).shape == (1, 4, 2, 2)
    assert whole[:3](images).shape == (1, 4, 8, 8)


@pytest.mark.parametrize("edge", [1, 2, 8, 9])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_small_and_few_images(edge, count):
    assert models.build(SMALL, (1, edge, edge), 3)(torch.zeros(count, 1, edge, edge)).shape == (count, 3)


def test_other_groups():
    config = Config(widths=[6, 12], blocks=[1, 1], groups=3)
    norms = [layer for layer in build(config, (1, 8, 8), 2).modules() if isinstance(layer, nn.GroupNorm)]
    assert {(layer.num_groups, layer.num_channels) for layer in norms} == {(3, 6), (3, 12)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"widths": [4, 8]}, r"\[2, 2, 2, 2\] are 4 stages, widths \[4, 8\] are 2"),
        ({"widths": [5], "blocks": [1]}, r"2 groups do not divide each of the widths \[5\]"),
    ],
)
def test_widths_must_fit_the_defaults_too(options, message):
    with pytest.raises(ValidationError, match=message):
        Config(**options)


def test_groups_are_no_matter_to_batch_normalisation():
    assert Config(norm="batch", widths=[5], blocks=[1]).groups == 2
    with pytest.raises(ValidationError, match="Input should be 'group' or 'batch'"):
        Config(norm="layer")
