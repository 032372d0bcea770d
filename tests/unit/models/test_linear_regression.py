"""Linear regression as a model: w . x, one output."""

import pytest
import torch
from pydantic import ValidationError

from fairfl import models

SHAPE = (10,)


def build(outputs=1, shape=SHAPE, **options):
    return models.build({"name": "linear_regression", **options}, shape, outputs)


@pytest.mark.parametrize("outputs", [0, 1, 10])
@pytest.mark.parametrize(("bias", "count"), [(False, 10), (True, 11)])
def test_one_output_whatever_the_data(outputs, bias, count):
    model = build(outputs, bias=bias)
    assert sum(parameter.numel() for parameter in model.parameters()) == count
    assert model(torch.zeros(3, 10)).shape == (3, 1)


def test_w_times_x():
    model = build(shape=(2, 2))
    with torch.no_grad():
        model[1].weight.copy_(torch.tensor([[1.0, 2.0, -1.0, 0.5]]))
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [0.0, 0.0]]])
    assert model(x).tolist() == [[4.0], [2.0]]


def test_zeros_start_at_zero():
    assert not any(parameter.any() for parameter in build(init="zeros", bias=True).parameters())


@pytest.mark.parametrize("start", [0.0, -1.5, 3])
def test_a_start_of_its_own(start):
    """FedEBA+, figure 1: one weight, from a given point."""
    model = build(shape=(1,), start=start)
    assert model(torch.tensor([[1.0], [2.0]])).tolist() == [[start], [2 * start]]
    assert all((parameter == start).all() for parameter in build(start=start, bias=True).parameters())


def test_only_one_start():
    with pytest.raises(ValidationError, match="start is 2.0, but init is zeros"):
        build(start=2.0, init="zeros")


def test_the_default_start_is_uniform_within_one_over_the_root_of_the_inputs():
    torch.manual_seed(0)
    weight = build(shape=(400,))[1].weight.detach()
    assert 0.9 / 20 < weight.abs().max() < 1.0001 / 20
    assert weight.std().item() == pytest.approx(1 / 20 / 3**0.5, rel=0.1)
