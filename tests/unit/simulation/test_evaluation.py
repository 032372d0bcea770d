"""Losses, hits and accuracies per client against naive loops: one label per sample, and one at each position."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score
from torch import nn

from fairfl.algorithms.interface import EvaluationModels
from fairfl.simulation import evaluation
from fairfl.simulation.clients import Part
from fairfl.simulation.evaluation import client_losses, client_measures, count, evaluate, recall
from fairfl.simulation.losses import LOSSES
from tests.unit.simulation.federations import image_clients

CLASSES = 6


def sentences(counts, length=4, seed=0):
    """Sentences of random words; client k has counts[k] of them, each with 1 to `length` positions asked for."""
    draw = torch.Generator().manual_seed(seed)
    total = sum(counts)
    inputs = torch.randint(CLASSES, (total, length), generator=draw)
    labels = torch.randint(CLASSES, (total, length), generator=draw)
    asked = torch.randint(1, length + 1, (total, 1), generator=draw)
    return Part(inputs, labels.masked_fill(torch.arange(length) >= asked, -1), torch.tensor(counts))


def table_model(x, tokens):
    """Logits of the next word are a row of a table: a bigram model. x [CLASSES^2]."""
    return x.view(CLASSES, CLASSES)[tokens]


def bigrams(models, seed=0):
    return torch.randn(models, CLASSES**2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def naive(part, client, predicted):
    """Loss and hits per word of a client by loops; `predicted(row, position)` is a distribution over words."""
    losses, hits, asked = [], torch.zeros(CLASSES, dtype=torch.int64), 0
    for row in range(part.offsets[client], part.offsets[client + 1]):
        words = []
        for position, label in enumerate(part.labels[row].tolist()):
            if label < 0:
                continue
            p = predicted(row, position)
            words.append(-math.log(p[label]))
            hits[label] += int(p.argmax() == label)
            asked += 1
        losses.append(sum(words) / len(words))
    return sum(losses) / len(losses) if losses else float("nan"), hits, asked


@pytest.fixture(params=[2048, 8, 1])
def chunk(request, monkeypatch):
    """Passes over many samples, over two, over one."""
    monkeypatch.setattr(evaluation, "CHUNK", request.param)


COUNTS = [3, 0, 5, 1]


def agrees(part, measured, predicted):
    for client in range(len(COUNTS)):
        loss, hits, _ = naive(part, client, lambda row, position, k=client: predicted(k, row, position))
        assert measured.loss[client].item() == pytest.approx(loss, rel=1e-12, nan_ok=True)
        assert measured.hits[client].tolist() == hits.tolist()


def test_sentences_with_a_model_of_each_client(chunk):
    part, models = sentences(COUNTS), bigrams(len(COUNTS))
    measured = evaluate(table_model, LOSSES["next_word"], EvaluationModels(models), part, CLASSES)
    p = torch.stack([table_model(x, part.inputs) for x in models]).softmax(-1)
    agrees(part, measured, lambda client, row, position: p[client, row, position])


def test_losses_and_accuracies_in_one_pass(chunk, monkeypatch):
    part, (x,) = sentences(COUNTS), bigrams(1)
    passed = []

    def forward(x, tokens):
        passed.append(len(tokens))
        return table_model(x, tokens)

    loss, accuracy = client_measures(forward, LOSSES["next_word"], x, part)
    assert sum(passed) == sum(COUNTS) and loss.dtype == accuracy.dtype == torch.float64
    p = table_model(x, part.inputs).softmax(-1)
    for client in range(len(COUNTS)):
        expected, hits, asked = naive(part, client, lambda row, position: p[row, position])
        assert loss[client].item() == pytest.approx(expected, rel=1e-12, nan_ok=True)
        assert accuracy[client].item() == (hits.sum().item() / asked if asked else pytest.approx(math.nan, nan_ok=True))
    torch.testing.assert_close(client_losses(table_model, LOSSES["next_word"], x, part), loss, equal_nan=True)


@pytest.mark.parametrize("loss", ["cross_entropy", "softmax_cross_entropy"])
def test_one_label_per_sample(chunk, loss):
    clients = image_clients(COUNTS)
    part, x = clients.parts["test"], torch.randn(3 * 4, dtype=torch.float64)

    def forward(x, inputs):
        return inputs.flatten(1) @ x.view(3, 4).T

    losses, accuracy = client_measures(forward, LOSSES[loss], x, part)
    measured = evaluate(forward, LOSSES[loss], EvaluationModels(x.unsqueeze(0)), part, 3)
    torch.testing.assert_close(measured.loss, losses, equal_nan=True)
    torch.testing.assert_close(measured.hits.sum(1) / count(part, 3).sum(1).double(), accuracy, equal_nan=True)
    for client, samples in enumerate(COUNTS):
        inputs, labels = part.of(client)
        outputs = forward(x, inputs)
        logits = outputs.softmax(-1) if loss == "softmax_cross_entropy" else outputs
        expected = nn.functional.cross_entropy(logits, labels) if samples else torch.tensor(math.nan).double()
        torch.testing.assert_close(losses[client], expected, equal_nan=True)
        if samples:
            right = labels[outputs.argmax(1) == labels]
            assert accuracy[client] == len(right) / samples
            assert measured.hits[client].tolist() == right.bincount(minlength=3).tolist()


# ---- regressions


def regression(counts, seed=0):
    """Three features each; some labels are -1, which is a number like any other here."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randn(sum(counts), generator=draw)
    labels[::3] = -1.0
    return Part(torch.randn(sum(counts), 3, generator=draw, dtype=torch.float64), labels, torch.tensor(counts))


def linear(x, inputs):
    return (inputs @ x).unsqueeze(-1)


def same_errors(part, measured, predicted):
    """The mean of (predicted(client) - y)^2 over each client's samples; no hits at all."""
    for client, samples in enumerate(COUNTS):
        inputs, labels = part.of(client)
        errors = [
            (predicted(client) @ row - label).item() ** 2 for row, label in zip(inputs, labels.double(), strict=True)
        ]
        expected = sum(errors) / samples if samples else math.nan
        assert measured.loss[client].item() == pytest.approx(expected, rel=1e-6, nan_ok=True)
    assert measured.hits.shape == (len(COUNTS), 0) and measured.hits.dtype == torch.int64


def test_a_regression_has_a_loss_but_no_accuracy(chunk):
    part, x = regression(COUNTS), torch.randn(3, dtype=torch.float64)
    loss, accuracy = client_measures(linear, LOSSES["squared_error"], x, part)
    measured = evaluate(linear, LOSSES["squared_error"], EvaluationModels(x.unsqueeze(0)), part, 0)
    same_errors(part, measured, lambda client: x)
    torch.testing.assert_close(measured.loss, loss, equal_nan=True)
    torch.testing.assert_close(client_losses(linear, LOSSES["squared_error"], x, part), loss, equal_nan=True)
    assert accuracy.isnan().all() and accuracy.dtype == torch.float64
    assert count(part, 0).shape == (len(COUNTS), 0)


def test_one_output_is_mixed_as_two_probabilities(chunk):
    """Logistic loss: -log of sum_r share_r sigmoid(+-z_r), and the more probable label."""
    clients = image_clients(COUNTS, shape=(3,), classes=2)
    part, models = clients.parts["test"], torch.randn(2, 3, dtype=torch.float64)
    mixture = torch.tensor([0.3, 0.7], dtype=torch.float64).expand(len(COUNTS), -1)
    measured = evaluate(linear, LOSSES["logistic"], EvaluationModels(models, mixture), part, 2)
    p = mixture[0] @ (models @ part.inputs.T).sigmoid()
    true = torch.where(part.labels == 1, p, 1 - p)
    right = ((p > 0.5) == (part.labels == 1)).split(COUNTS)
    for client, own in enumerate((-true.log()).split(COUNTS)):
        assert measured.loss[client].item() == pytest.approx(own.mean().item(), nan_ok=True)
        assert measured.hits[client].sum() == right[client].sum()


def counts(y, p, classes):
    hits = [sum(1 for a, b in zip(y, p, strict=True) if a == b == c) for c in range(classes)]
    return [hits], [[list(y).count(c) for c in range(classes)]]


@given(st.integers(0, 2**32 - 1))
def test_recall_agrees_with_scikit_learn(seed):
    draw = np.random.default_rng(seed)
    y, p = draw.integers(0, 5, 40), draw.integers(0, 5, 40)
    hits, totals = counts(y, p, 6)  # class 5 never occurs
    expected = balanced_accuracy_score(y[np.isin(y, np.unique(y))], p)
    assert recall(hits, totals)[0] == pytest.approx(expected)
