"""Generated reviews: their form, and that the two domains want a model each."""

from fairfl.data import reviews

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
