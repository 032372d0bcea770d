"""Model families: parameter counts, initial values, shapes, configurations that cannot be built."""

import pytest
import torch
import torchvision
from torch import nn

from fairfl import models
from fairfl.models import mobilenet_v2, resnet
from fairfl.simulation.backends import conv_kernels

# FedFV's released model of MNIST, but for the softmax, which is the loss's.
FEDFV = {
    "name": "cnn", "kernel": 5, "hidden": 512, "activation": "none", "outputs": 62, "output_activation": "relu",
}  # fmt: skip


# FedEBA+'s model of CIFAR-10, which is FLGo's, and what is assumed of those of its tables 21 and 22.
FEDEBA = {"name": "cnn", "channels": [64, 64], "kernel": 5, "hidden": [384, 192]}
DEEPER = FEDEBA | {"channels": [64, 64, 64], "kernel": [5, 5, 3], "padding": [0, 0, 1], "pool": [2, 2, 1]}
SHALLOWER = FEDEBA | {"channels": [64], "pool": 4, "hidden": []}


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("choice", "shape", "outputs", "count"),
    [
        ({"name": "logistic_regression"}, (1, 28, 28), 62, 48_670),
        ({"name": "mlp", "hidden": [7]}, (5,), 3, 5 * 7 + 7 + 7 * 3 + 3),
        ({"name": "cnn"}, (1, 28, 28), 62, 320 + 18_496 + 1600 * 128 + 128 + 128 * 62 + 62),
        # The models of FedFV's public code.
        ({"name": "logistic_regression", "bias": "zero"}, (1, 28, 28), 3, 2_355),
        (FEDFV, (1, 28, 28), 10, 608_702),
        # Those of FLGo and LEAF.
        (FEDEBA, (3, 32, 32), 10, 797_962),
        ({"name": "cnn", "kernel": 5, "padding": 2, "hidden": 2048}, (1, 28, 28), 62, 6_603_710),
        (FEDEBA | {"channels": [32, 32], "hidden": [192, 96]}, (3, 32, 32), 10, 201_354),
        # torchvision's: FedEBA+'s on Tiny-ImageNet, and the published ones.
        *(({"name": "mobilenet_v2", "small_input": small}, (3, 64, 64), 200, 2_480_072) for small in (False, True)),
        ({"name": "mobilenet_v2"}, (3, 64, 64), 1000, 3_504_872),
        ({"name": "resnet"}, (3, 32, 32), 10, 11_181_642),
        ({"name": "resnet", "norm": "batch", "stem": "cifar"}, (3, 32, 32), 100, 11_220_132),
        (DEEPER, (3, 32, 32), 10, 797_962 + 64 * 64 * 9 + 64),
        (SHALLOWER, (3, 32, 32), 10, 3 * 25 * 64 + 64 + 3136 * 10 + 10),
    ],
)
def test_number_of_parameters(choice, shape, outputs, count):
    model = models.build(choice, shape, outputs)
    assert size(model) == count
    assert model(torch.zeros(2, *shape)).shape == (2, choice.get("outputs", outputs))


def test_steps_of_a_cnn_are_by_hand_unless_an_activation_ends_it():
    several = {"name": "cnn", "activation": "none", "hidden": [8, 4], "outputs": 62}
    for choice in ({"name": "cnn"}, several, DEEPER, SHALLOWER):
        assert conv_kernels.supports(models.build(choice, (1, 28, 28), 10))
    assert not conv_kernels.supports(models.build({"name": "cnn", "output_activation": "relu"}, (1, 28, 28), 10))


@pytest.mark.parametrize("name", ["cnn", "resnet", "mobilenet_v2", "lstm", "bert"])
def test_other_data_are_refused(name):
    images = name not in ("lstm", "bert")
    needs = "images .channels, height, width." if images else "tokens .length."
    for shape in [(784,), (1, 1, 28, 28)] if images else [(), (5, 3)]:
        with pytest.raises(ValueError, match=f"{name} needs {needs}, the data have shape"):
            models.build({"name": name}, shape, 10)


# -- linear_regression


@pytest.mark.parametrize("start", [0.0, -1.5, 3])
def test_a_start_of_its_own(start):
    """FedEBA+, figure 1: one weight, from a given point."""
    choice = {"name": "linear_regression", "start": start}
    assert models.build(choice, (1,), 1)(torch.tensor([[1.0], [2.0]])).tolist() == [[start], [2 * start]]
    assert all((p == start).all() for p in models.build(choice | {"bias": True}, (10,), 1).parameters())


# -- mobilenet_v2
def test_outputs_of_mobilenet_are_those_of_torchvision():
    torch.manual_seed(0)
    ours = mobilenet_v2.build(mobilenet_v2.Config(width=0.25), (3, 32, 32), 10).eval()
    other = torchvision.models.mobilenet_v2(num_classes=10, width_mult=0.25).eval()
    assert list(ours.state_dict()) == list(other.state_dict())
    other.load_state_dict(ours.state_dict())
    images = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(ours(images), other(images))


@pytest.mark.parametrize(("small_input", "edge"), [(True, 4), (False, 1)])
def test_small_images_are_halved_twice_less(small_input, edge):
    model = mobilenet_v2.build(mobilenet_v2.Config(small_input=small_input, width=0.1), (3, 32, 32), 2).eval()
    assert model.features(torch.zeros(1, 3, 32, 32)).shape[-2:] == (edge, edge)


# -- lstm
LSTM = {"name": "lstm", "embedding": 3, "hidden": 4, "projection": 2}


STACKED = {"name": "lstm", "embedding": 3, "hidden": 4, "layers": 2, "projection": None}


def test_number_of_parameters_of_next_word_models():
    """VRed: 10,000 words, padding, begin, end, unknown. AAggFF on Reddit: 10,000 in all."""
    with torch.device("meta"):
        assert size(models.build({"name": "lstm"}, (20,), 10_004)) == 4_053_428
        sizes = {"embedding": 200, "hidden": 256, "layers": 2, "projection": None}
        layers = sum(4 * 256 * (inputs + 256 + 2) for inputs in (200, 256))
        built = models.build({"name": "lstm", **sizes}, (10,), 10_000)
        assert size(built) == 10_000 * 200 + layers + 256 * 10_000 + 10_000


@pytest.mark.parametrize("choice", [LSTM, STACKED])
def test_a_position_knows_the_words_up_to_it_and_nothing_of_other_samples(choice):
    torch.manual_seed(0)
    model, tokens = models.build(choice, (5,), 7).double(), torch.randint(7, (6, 5))
    changed = tokens.clone()
    changed[2, 3] = (tokens[2, 3] + 1) % 7
    same = (model(tokens) == model(changed)).all(-1)
    assert not same[2, 3:].any()
    same[2, 3:] = True
    assert same.all()


# -- resnet
def made_equal(own_model, other_model):
    """All parameters of the first into the second; norms that change nothing would hide which is which."""
    with torch.no_grad():
        for own, other in zip(own_model.parameters(), other_model.parameters(), strict=True):
            if own.dim() == 1:
                own.add_(0.1 * torch.randn_like(own))
            assert own.shape == other.shape
            other.copy_(own)


@pytest.mark.parametrize("edge", [32, 33])
def test_outputs_of_resnet_are_those_of_torchvision(edge):
    torch.manual_seed(0)
    ours = resnet.build(resnet.Config(), (3, 32, 32), 10).double()
    other = torchvision.models.resnet18(num_classes=10, norm_layer=lambda channels: nn.GroupNorm(2, channels)).double()
    made_equal(ours, other)
    images = torch.randn(2, 3, edge, edge).double()
    with torch.no_grad():
        torch.testing.assert_close(ours(images), other(images))


@pytest.mark.parametrize("kernel", [1, 3, 7])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("size", [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 3), (4, 4)])
def test_what_meets_padding_may_be_left_out(kernel, stride, size):
    layer = resnet.SameSize(3, 5, kernel, stride).double()
    x = torch.randn(2, 3, *size, dtype=torch.float64, requires_grad=True)
    whole = nn.functional.conv2d(x, layer.weight, stride=stride, padding=kernel // 2)
    torch.testing.assert_close(layer(x), whole)
    inputs, slopes = (x, layer.weight), torch.randn_like(whole)
    grads = [torch.autograd.grad(y, inputs, slopes) for y in (layer(x), whole)]
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("stem", ["imagenet", "cifar"])
def test_batch_normalisation_is_that_of_torchvision(stem):
    """In training, in evaluation, and in the running statistics that the one leaves to the other."""
    torch.manual_seed(0)
    ours = resnet.build(resnet.Config(norm="batch", stem=stem, blocks=[1, 1, 1, 1]), (3, 8, 8), 10).double()
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


def test_initial_values_of_resnet():
    """He normal, fan-out: standard deviation sqrt(2 / (channels out x kernel area)). Norms start as no change."""
    torch.manual_seed(0)
    for layer in resnet.build(resnet.Config(widths=[64, 128], blocks=[1, 1]), (3, 32, 32), 10).modules():
        if isinstance(layer, nn.Conv2d):
            channels, _, height, width = layer.weight.shape
            expected = (2 / (channels * height * width)) ** 0.5
            assert layer.weight.std().item() == pytest.approx(expected, rel=0.03)
            assert abs(layer.weight.mean().item()) < 0.05 * expected
        if isinstance(layer, nn.GroupNorm):
            assert (layer.num_groups, layer.eps) == (2, 1e-5)
            assert (layer.weight == 1).all() and (layer.bias == 0).all()
