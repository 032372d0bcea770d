"""Generated reviews: their form, and that the two domains want a model each."""

import itertools

import pytest

from fairfl.data import reviews, sentiment


@pytest.fixture(scope="module")
def data():
    return sentiment.prepare(None, sentiment.Config(), 0)


def test_form(data):
    """1400 + 600 training reviews, then 700 + 300 for the test; half of each positive."""
    tensors = data.tensors
    assert {name: tensor.dtype.name for name, tensor in tensors.items()} == {
        "inputs": "int64",
        "labels": "int64",
        "groups": "int64",
        "domain": "int64",
        "official_test": "uint8",
    }
    sizes = {(0, 0): 1400, (0, 1): 600, (1, 0): 700, (1, 1): 300}
    keys = list(zip(tensors["official_test"].tolist(), tensors["domain"].tolist(), strict=True))
    assert [(key, len(list(rows))) for key, rows in itertools.groupby(keys)] == list(sizes.items())
    for test, domain in sizes:
        mine = (tensors["official_test"] == test) & (tensors["domain"] == domain)
        assert tensors["labels"][mine].mean() == 0.5
    assert tensors["inputs"].shape == (3000, 32)
    assert data.metadata["classes"] == "2"
    assert data.metadata["source"].startswith("generated reviews of restaurants and films; words of a vocabulary of")


# -- reviews as tokens


def test_words_by_hand():
    """a comes three times, the full stop and b twice, c and the comma once: c has no room among 8 tokens."""
    tokens = reviews.words(["A b a.", "c B, a ."], 8, 7)
    assert tokens.described == "words of a vocabulary of 8 tokens made from the training reviews"
    a, stop, b, comma = 4, 5, 6, 7
    pad, unknown, first, last = reviews.PAD, reviews.UNKNOWN, reviews.CLS, reviews.SEP
    assert tokens.encode(["a b", "A C!", "b . a , a a a", ""]).tolist() == [
        [first, a, b, last, pad, pad, pad],
        [first, a, unknown, unknown, last, pad, pad],
        [first, b, stop, a, comma, a, last],
        [first, last, pad, pad, pad, pad, pad],
    ]
