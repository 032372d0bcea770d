"""The next-word model: size, shape, what a position knows, steps in the sequential backend."""

import pytest
import torch

from fairfl import models

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
