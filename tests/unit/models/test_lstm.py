"""The next-word model: size, shape, what a position knows, steps in the sequential backend."""

import pytest
import torch
from torch import nn

from fairfl import models
from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.backends.sequential import Sequential
from fairfl.simulation.clients import Part
from fairfl.simulation.losses import LOSSES

SMALL = {"name": "lstm", "embedding": 3, "hidden": 4, "projection": 2}


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


def small(words=7, choice=SMALL):
    torch.manual_seed(0)
    return models.build(choice, (5,), words).double()


STACKED = {"name": "lstm", "embedding": 3, "hidden": 4, "layers": 2, "projection": None}


def test_number_of_parameters():
    """VRed: 10,000 words, padding, begin, end, unknown. AAggFF on Reddit: 10,000 in all."""
    with torch.device("meta"):
        assert size(models.build({"name": "lstm"}, (20,), 10_004)) == 4_053_428
        sizes = {"embedding": 200, "hidden": 256, "layers": 2, "projection": None}
        layers = [4 * 256 * (inputs + 256 + 2) for inputs in (200, 256)]
        assert size(models.build({"name": "lstm", **sizes}, (10,), 10_000)) == sum(
            [10_000 * 200, *layers, 256 * 10_000 + 10_000]
        )
    embedding, lstm, projection, words = 7 * 3, 4 * 4 * (3 + 4 + 2), 4 * 2 + 2, 2 * 7 + 7
    assert size(small()) == embedding + lstm + projection + words


@pytest.mark.parametrize("choice", [SMALL, STACKED])
def test_a_position_knows_the_words_up_to_it_and_nothing_of_other_samples(choice):
    model, tokens = small(choice=choice), torch.randint(7, (6, 5))
    changed = tokens.clone()
    changed[2, 3] = (tokens[2, 3] + 1) % 7
    same = (model(tokens) == model(changed)).all(-1)
    assert not same[2, 3:].any()
    same[2, 3:] = True
    assert same.all()


@pytest.mark.parametrize("choice", [SMALL, STACKED])
def test_local_steps_are_those_of_plain_autograd(choice):
    """Two epochs of a client's only batch, padding included."""
    model, loss = small(choice=choice), LOSSES["next_word"]
    tokens = torch.randint(7, (3, 5))
    labels = torch.tensor([[1, 2, 3, 4, 5], [6, 2, -1, -1, -1], [0, -1, -1, -1, -1]])
    plain = small(choice=choice)
    for _ in range(2):
        gradients = torch.autograd.grad(loss.value(plain(tokens), labels).mean(), list(plain.parameters()))
        for parameter, gradient in zip(plain.parameters(), gradients, strict=True):
            parameter.data.sub_(0.5 * gradient)
    backend = Sequential(model, LOSSES["next_word"], Part(tokens, labels, torch.tensor([3])))
    start = backend.flat.clone()
    rate = torch.tensor([0.5], dtype=torch.float64)
    trained = backend.train(Work([0], start.unsqueeze(0), rate), LocalTraining(2, None, 0), 0, losses=True)
    torch.testing.assert_close(start - trained.delta[0], nn.utils.parameters_to_vector(plain.parameters()).detach())
    torch.testing.assert_close(trained.loss[0], loss.value(small(choice=choice)(tokens), labels).mean().detach())
    torch.testing.assert_close(backend.forward(start, tokens), small(choice=choice)(tokens).detach())
