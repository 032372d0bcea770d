"""Model families: parameter counts, initial values, shapes, configurations that cannot be built."""

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from fairfl import models
from fairfl.models import cnn, logistic_regression, mlp


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("choice", "shape", "outputs", "count"),
    [
        ({"name": "logistic_regression"}, (1, 28, 28), 62, 48_670),
        ({"name": "logistic_regression", "init": "zeros"}, (2,), 1, 3),
        ({"name": "mlp"}, (3, 32, 32), 10, 656_810),
        ({"name": "mlp", "hidden": [7]}, (5,), 3, 5 * 7 + 7 + 7 * 3 + 3),
        ({"name": "cnn"}, (1, 28, 28), 62, 320 + 18_496 + 1600 * 128 + 128 + 128 * 62 + 62),
        ({"name": "cnn", "channels": [4], "hidden": 5}, (1, 8, 8), 10, 40 + 4 * 9 * 5 + 5 + 60),
    ],
)
def test_number_of_parameters(choice, shape, outputs, count):
    model = models.build(choice, shape, outputs)
    assert size(model) == count
    assert model(torch.zeros(2, *shape)).shape == (2, outputs)


def test_zeros_start_at_zero():
    model = models.build({"name": "logistic_regression", "init": "zeros"}, (4, 4), 3)
    assert all(not parameter.any() for parameter in model.parameters())


def test_the_default_start_is_uniform_within_one_over_the_root_of_the_inputs():
    torch.manual_seed(0)
    dense = models.build({"name": "logistic_regression"}, (1, 20, 20), 50)[1]
    weight, bias = dense.weight.detach(), dense.bias.detach()
    for values in (weight, bias):
        assert 0.9 / 20 < values.abs().max() < 1.0001 / 20
    assert weight.std().item() == pytest.approx(1 / 20 / 3**0.5, rel=0.02)


@pytest.mark.parametrize("name", ["logistic_regression", "mlp", "cnn"])
def test_the_same_seed_gives_the_same_start(name):
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(nn.utils.parameters_to_vector(models.build({"name": name}, (1, 28, 28), 4).parameters()))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_dense_models_keep_their_layers_in_order():
    layers = [type(layer) for layer in mlp.build(mlp.Config(hidden=[4, 3]), (2, 2), 5)]
    assert layers == [nn.Flatten, nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]
    assert [type(layer) for layer in logistic_regression.build(logistic_regression.Config(), (4,), 2)] == [
        nn.Flatten,
        nn.Linear,
    ]


@pytest.mark.parametrize("kernel", [1, 3, 4, 5])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 20, 25)])
def test_cnn_knows_the_size_that_its_blocks_leave(kernel, padding, shape):
    model = cnn.build(cnn.Config(channels=[2, 3], kernel=kernel, padding=padding, hidden=4), shape, 6)
    assert model(torch.zeros(2, *shape)).shape == (2, 6)


def test_small_images_need_padding():
    with pytest.raises(ValueError, match=r"3 blocks is too deep for images of shape \[1, 8, 8\]"):
        cnn.build(cnn.Config(channels=[2, 2, 2]), (1, 8, 8), 10)
    model = cnn.build(cnn.Config(channels=[2, 2, 2], padding=1, hidden=4), (1, 8, 8), 10)
    assert model(torch.zeros(1, 1, 8, 8)).shape == (1, 10)


def test_one_short_side_makes_a_cnn_too_deep():
    with pytest.raises(ValueError, match="too deep"):
        cnn.build(cnn.Config(channels=[2]), (1, 28, 3), 10)


@pytest.mark.parametrize("shape", [(784,), (28, 28), (1, 1, 28, 28)])
def test_cnn_refuses_data_that_are_no_images(shape):
    with pytest.raises(ValueError, match="cnn needs images .channels, height, width., the data have shape"):
        cnn.build(cnn.Config(), shape, 10)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cnn", {"channels": []}),
        ("cnn", {"channels": [8, 0]}),
        ("cnn", {"kernel": 0}),
        ("cnn", {"padding": -1}),
        ("cnn", {"hidden": 0}),
        ("cnn", {"kernel": 2.5}),
        ("mlp", {"hidden": []}),
        ("mlp", {"hidden": [200, -1]}),
        ("mlp", {"hidden": [float("nan")]}),
        ("logistic_regression", {"init": "ones"}),
        ("logistic_regression", {"bias": False}),
        ("mlp", {"hiden": [3]}),
    ],
)
def test_impossible_configurations_are_refused(name, options):
    with pytest.raises(ValidationError, match=next(iter(options))):
        models.build({"name": name, **options}, (1, 28, 28), 10)
