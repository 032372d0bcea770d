"""MobileNet-v2: torchvision's, its sizes, small images, and batch normalisation in the sequential backend."""

import pytest
import torch
import torchvision

from fairfl.models.mobilenet_v2 import Config, build


def test_outputs_are_those_of_torchvision():
    torch.manual_seed(0)
    ours = build(Config(width=0.25), (3, 32, 32), 10).eval()
    other = torchvision.models.mobilenet_v2(num_classes=10, width_mult=0.25).eval()
    assert list(ours.state_dict()) == list(other.state_dict())
    other.load_state_dict(ours.state_dict())
    images = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(ours(images), other(images))


@pytest.mark.parametrize(("small_input", "edge"), [(True, 4), (False, 1)])
def test_small_images_are_halved_twice_less(small_input, edge):
    model = build(Config(small_input=small_input, width=0.1), (3, 32, 32), 2).eval()
    assert model.features(torch.zeros(1, 3, 32, 32)).shape[-2:] == (edge, edge)
