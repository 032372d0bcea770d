"""The residual network against torchvision's, and its initial values."""

import pytest
import torch
import torchvision
from torch import nn

from fairfl.models.resnet import Config, build


def made_equal(own_model, other_model):
    """All parameters of the first into the second; norms that change nothing would hide which is which."""
    with torch.no_grad():
        for own, other in zip(own_model.parameters(), other_model.parameters(), strict=True):
            if own.dim() == 1:
                own.add_(0.1 * torch.randn_like(own))
            assert own.shape == other.shape
            other.copy_(own)


@pytest.mark.parametrize("edge", [32, 33])
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
