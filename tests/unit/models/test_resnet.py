"""The residual network against torchvision's, and its initial values."""

import pytest
import torch
import torchvision
from pydantic import ValidationError
from torch import nn

from fairfl import models
from fairfl.models.resnet import Config, build

SMALL = {"name": "resnet", "widths": [4, 6], "blocks": [1, 2]}


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("stem", "classes", "count"),
    [
        ("imagenet", 10, 11_181_642),
        ("imagenet", 100, 11_227_812),
        ("cifar", 10, 11_173_962),
        ("cifar", 100, 11_220_132),
    ],
)
def test_number_of_parameters(stem, classes, count):
    with torch.device("meta"):
        model = build(Config(stem=stem), (3, 32, 32), classes)
    assert size(model) == count
    assert not list(model.buffers())


@pytest.mark.parametrize("edge", [32, 33, 64])
def test_outputs_are_those_of_torchvision(edge):
    torch.manual_seed(0)
    ours = build(Config(), (3, 32, 32), 10).double()
    theirs = torchvision.models.resnet18(num_classes=10, norm_layer=lambda channels: nn.GroupNorm(2, channels)).double()
    with torch.no_grad():
        for own, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            if own.dim() == 1:  # norms that change nothing would hide which is which
                own.add_(0.1 * torch.randn_like(own))
            assert own.shape == other.shape
            other.copy_(own)
        images = torch.randn(2, 3, edge, edge).double()
        torch.testing.assert_close(ours(images), theirs(images))


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
