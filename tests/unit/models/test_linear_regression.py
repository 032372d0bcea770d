"""Linear regression as a model: w . x, one output."""

import pytest
import torch

from fairfl import models

SHAPE = (10,)


def build(outputs=1, shape=SHAPE, **options):
    return models.build({"name": "linear_regression", **options}, shape, outputs)


def test_w_times_x():
    model = build(shape=(2, 2))
    with torch.no_grad():
        model[1].weight.copy_(torch.tensor([[1.0, 2.0, -1.0, 0.5]]))
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [0.0, 0.0]]])
    assert model(x).tolist() == [[4.0], [2.0]]


@pytest.mark.parametrize("start", [0.0, -1.5, 3])
def test_a_start_of_its_own(start):
    """FedEBA+, figure 1: one weight, from a given point."""
    model = build(shape=(1,), start=start)
    assert model(torch.tensor([[1.0], [2.0]])).tolist() == [[start], [2 * start]]
    assert all((parameter == start).all() for parameter in build(start=start, bias=True).parameters())
