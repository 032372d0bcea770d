"""Losses against autograd and worked examples, in float64."""

import math

import pytest
import torch

from fairfl.simulation.losses import LOSSES, ClosedForm, outputs_needed

CLOSED = [name for name, loss in LOSSES.items() if isinstance(loss, ClosedForm)]
LAYOUTS = {
    "classes first": lambda outputs: outputs.clone(memory_format=torch.contiguous_format),
    "classes last": lambda outputs: outputs.mT.contiguous().mT,
}


def drawn(models=2, samples=7, classes=5, scale=3.0, seed=0):
    """Outputs [m, C, n] and labels [m, n]."""
    draw = torch.Generator().manual_seed(seed)
    outputs = scale * torch.randn(models, classes, samples, generator=draw, dtype=torch.float64)
    return outputs, torch.randint(max(2, classes), (models, samples), generator=draw)


def labels_of(name, labels):
    """As the data of a loss have them: classes, or real numbers."""
    return labels.double() - 0.7 if name == "squared_error" else labels


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CLOSED)
def test_gradients_are_those_of_autograd_and_take_the_place_of_the_outputs(name, layout):
    loss = LOSSES[name]
    outputs, labels = drawn(classes=outputs_needed(name, 2))
    labels = labels_of(name, labels)
    targets = loss.targets(labels, outputs.shape[1], torch.float64)
    leaf = outputs.clone().requires_grad_()
    value = loss.value(leaf.mT, labels)
    (expected,) = torch.autograd.grad(value.sum(), leaf)
    torch.testing.assert_close(loss.of_targets(outputs, targets), value.detach())
    given_outputs = LAYOUTS[layout](outputs)
    found = loss.gradient(given_outputs, targets)
    assert found.data_ptr() == given_outputs.data_ptr() and found.stride() == given_outputs.stride()
    torch.testing.assert_close(found, expected)


# ---- mixtures of models


def test_mixtures_are_of_probabilities_or_of_predicted_numbers_by_hand():
    """Half of each model: p = (0.8 + 0.2) / 2, and z = (1 + 3) / 2; not the mean of losses or of logits."""
    logits = torch.tensor([[[math.log(0.8), math.log(0.2)]], [[math.log(0.2), math.log(0.8)]]], dtype=torch.float64)
    entropy, squared = LOSSES["cross_entropy"], LOSSES["squared_error"]
    value = entropy.of_mixture(entropy.mixed(logits).mean(0), torch.tensor([0]))
    assert value.tolist() == pytest.approx([math.log(2)])
    numbers = torch.tensor([[[1.0]], [[3.0]]])
    assert squared.of_mixture(squared.mixed(numbers).mean(0), torch.tensor([2.5])).tolist() == [0.25]


def test_the_logarithm_of_a_mixture_is_bounded():
    value = LOSSES["cross_entropy"].of_mixture(torch.tensor([[1.0, 0.0]], dtype=torch.float64), torch.tensor([1]))
    assert value.item() == pytest.approx(-math.log(1e-12))
