"""Losses, hits and accuracies per client against naive loops: one label per sample, one at each position, numbers."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from fairfl.algorithms.interface import EvaluationModels
from fairfl.simulation import evaluation
from fairfl.simulation.clients import Part
from fairfl.simulation.evaluation import client_losses, client_measures, count, evaluate, recall
from fairfl.simulation.losses import LOSSES, ClosedForm, outputs_needed

COUNTS, CLASSES, LENGTH = [3, 0, 5, 1], 6, 4
DRAW = torch.Generator().manual_seed(0)


def bigrams(x, tokens):
    """Logits of the next word are a row of a table."""
    return x.view(CLASSES, CLASSES)[tokens]


def linear(x, inputs):
    return inputs @ x.view(-1, 3).mT


def part_of(loss):
    """Random samples: sentences with 1 to LENGTH positions asked for, or three features."""
    n, classes = sum(COUNTS), 2 if loss == "logistic" else CLASSES
    if loss == "next_word":
        labels = torch.randint(CLASSES, (n, LENGTH), generator=DRAW)
        labels[torch.arange(LENGTH) >= torch.randint(1, LENGTH + 1, (n, 1), generator=DRAW)] = -1
        return Part(torch.randint(CLASSES, (n, LENGTH), generator=DRAW), labels, torch.tensor(COUNTS))
    inputs = torch.randn(n, 3, generator=DRAW, dtype=torch.float64)
    return Part(inputs, torch.randint(classes, (n,), generator=DRAW), torch.tensor(COUNTS))


# By loss: the forward pass, numbers of a model, and the probabilities of its outputs.
KINDS = {
    "next_word": (bigrams, CLASSES**2, lambda z: z.softmax(-1)),
    "cross_entropy": (linear, 3 * CLASSES, lambda z: z.softmax(-1)),
    "softmax_cross_entropy": (linear, 3 * CLASSES, lambda z: z.softmax(-1).softmax(-1)),
    "logistic": (linear, 3, lambda z: torch.cat([(-z).sigmoid(), z.sigmoid()], -1)),
}
SHARES = {"one model": torch.ones(4, 1), "one each": torch.eye(4), "mixture": torch.tensor([[0.3, 0.7]]).expand(4, -1)}


@pytest.fixture(params=[2048, 8, 1])
def chunk(request, monkeypatch):
    """Passes over many samples, over two sentences, over one."""
    monkeypatch.setattr(evaluation, "CHUNK", request.param)


@pytest.mark.parametrize("loss", KINDS)
@pytest.mark.parametrize("deployed", SHARES)
def test_against_loops(chunk, loss, deployed):
    (forward, size, probabilities), part, shares = KINDS[loss], part_of(loss), SHARES[deployed].double()
    models = torch.randn(shares.shape[1], size, generator=DRAW, dtype=torch.float64)
    mixture = shares if deployed == "mixture" else None
    measured = evaluate(forward, LOSSES[loss], EvaluationModels(models, mixture), part, CLASSES)
    for k, n in enumerate(COUNTS):
        losses, hits, asked = [], torch.zeros(CLASSES, dtype=torch.int64), 0
        for inputs, labels in zip(*part.of(k), strict=True):
            p = sum(share * probabilities(forward(x, inputs)) for share, x in zip(shares[k], models, strict=True))
            words = [(q, c) for q, c in zip(p.view(-1, p.shape[-1]), labels.view(-1).tolist(), strict=True) if c >= 0]
            losses.append(sum(-math.log(q[c]) for q, c in words) / len(words))
            asked += len(words)
            for q, c in words:
                hits[c] += int(q.argmax() == c)
        assert measured.loss[k].item() == pytest.approx(sum(losses) / n if n else math.nan, rel=1e-12, nan_ok=True)
        assert measured.hits[k].tolist() == hits.tolist() and count(part, CLASSES)[k].sum() == asked
    if deployed == "one model":
        own, accuracy = client_measures(forward, LOSSES[loss], models[0], part)
        torch.testing.assert_close(own, measured.loss, equal_nan=True)
        torch.testing.assert_close(client_losses(forward, LOSSES[loss], models[0], part), own, equal_nan=True)
        expected = measured.hits.sum(1) / count(part, CLASSES).sum(1).double()
        torch.testing.assert_close(accuracy, expected, equal_nan=True)


def test_a_regression_has_a_loss_but_no_accuracy(chunk):
    """The mean of (x . inputs - y)^2; a label of -1 is a number like any other here."""
    part, x = part_of("cross_entropy"), torch.randn(3, generator=DRAW, dtype=torch.float64)
    part = Part(part.inputs, torch.where(part.labels == 0, -1.0, part.labels), part.counts)
    loss, accuracy = client_measures(linear, LOSSES["squared_error"], x, part)
    measured = evaluate(linear, LOSSES["squared_error"], EvaluationModels(x.unsqueeze(0)), part, 0)
    for k, n in enumerate(COUNTS):
        errors = [(x @ row - label).item() ** 2 for row, label in zip(*part.of(k), strict=True)]
        assert measured.loss[k].item() == pytest.approx(sum(errors) / n if n else math.nan, rel=1e-6, nan_ok=True)
    torch.testing.assert_close(measured.loss, loss, equal_nan=True)
    assert accuracy.isnan().all() and measured.hits.shape == count(part, 0).shape == (4, 0)


@given(st.integers(0, 2**32 - 1))
def test_recall_agrees_with_scikit_learn(seed):
    y, p = np.random.default_rng(seed).integers(0, 5, (2, 40))
    hits = [[np.sum((y == p) & (y == c)) for c in range(6)]]  # class 5 never occurs
    assert recall(hits, [np.bincount(y, minlength=6)])[0] == pytest.approx(balanced_accuracy_score(y, p))


def test_clients_without_samples_or_with_one_class():
    nobody = Part(torch.zeros(0, 3).double(), torch.zeros(0).long(), torch.zeros(2).long())
    assert client_losses(linear, LOSSES["cross_entropy"], torch.zeros(6).double(), nobody).isnan().all()
    found = recall([[0, 0], [3, 0]], [[0, 0], [4, 0]])
    assert np.isnan(found[0]) and found[1] == 0.75


# -- losses against autograd and worked examples
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
    half = torch.tensor([[0.5, 0.5]], dtype=torch.float64)
    entropy, squared = LOSSES["cross_entropy"], LOSSES["squared_error"]
    mixed = entropy.mixed(torch.tensor([[[0.8, 0.2]], [[0.2, 0.8]]], dtype=torch.float64).log()).mean(0)
    torch.testing.assert_close(mixed, half)
    assert entropy.of_mixture(half, torch.tensor([0])).item() == pytest.approx(math.log(2))
    numbers = torch.tensor([[[1.0]], [[3.0]]])
    assert squared.of_mixture(squared.mixed(numbers).mean(0), torch.tensor([2.5])).tolist() == [0.25]


@pytest.mark.parametrize(("name", "outputs"), [("cross_entropy", [600.0, 0.0]), ("logistic", [-600.0])])
def test_a_mixture_of_one_model_has_its_loss_however_large(name, outputs):
    """A bound would favour mixtures over methods with one model."""
    loss, z, label = LOSSES[name], torch.tensor([outputs], dtype=torch.float64), torch.tensor([1])
    torch.testing.assert_close(loss.of_mixture(loss.mixed(z), label), loss.value(z, label))
