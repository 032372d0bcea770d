"""MobileNet-v2: torchvision's, its sizes, small images, and batch normalisation in the sequential backend."""

import pytest
import torch
import torchvision

from fairfl.models.mobilenet_v2 import Config, build


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
