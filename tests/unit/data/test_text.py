"""Data sets for next-word prediction: tokens, the text that ships with Python, Stack Overflow in a small copy."""

import platform

import numpy as np

from fairfl.data import python_text, stackoverflow, words
from tests.unit.data import toys

# -- tokens


def test_a_short_sentence_by_hand():
    """Specials 0..3 are padding, begin, end, unknown; "b" is not in the vocabulary."""
    tokens = words.number_words(words.sort_by_frequency("caacxb"), 2)
    assert tokens == {"a": 4, "c": 5}
    inputs, labels = words.encode([["a", "b", "c"]], tokens, 6, False)
    assert inputs.tolist() == [[1, 4, 3, 5, 2, 0]]
    assert labels.tolist() == [[4, 3, 5, 2, -1, -1]]
    assert words.encode([["a", "b", "c"]], tokens, 6, True)[1].tolist() == [[4, 3, 5, 2, 0, 0]]


# -- python_text


def test_python_text_form():
    text = python_text.prepare(None, python_text.Config(), 0)
    sizes = np.bincount(text.tensors["client"])
    assert len(sizes) == 10 and sizes.min() >= 150 and sizes.max() == 200
    assert text.tensors["inputs"].shape == text.tensors["labels"].shape == (sizes.sum(), 10)
    assert text.metadata["classes"] == "504" and f"Python {platform.python_version()}," in text.metadata["source"]


LIBRARY = '''"""A first line without an end

Two lines that make one
sentence here. Short one. It's the 2nd (real) sentence!

    An indented list. It is not read at all.
>>> a program is not read either.
"""


class Later:
    """The class comes before its method."""

    def method(self):
        """The method comes after its class."""


async def last():
    """The method comes after its class."""
'''


def test_sentences_of_a_library_of_two_modules(tmp_path, monkeypatch):
    monkeypatch.setattr(python_text.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(python_text, "TOPICS", {"one": "single", "two": "package gone"})
    toys.put(tmp_path / "single.py", LIBRARY.encode())
    toys.put(tmp_path / "package/test/a.py", b'"""Tests of the library are not read."""')
    toys.put(tmp_path / "package/b.py", b'"""A package is read with all its files."""')
    assert [" ".join(sentence) for sentence in python_text._sentences("one", 9)] == [
        "two lines that make one sentence here .",
        "it's the 2 nd ( real ) sentence !",
        "the class comes before its method .",
        "the method comes after its class .",
    ]
    assert len(python_text._sentences("one", 2)) == 2
    assert [" ".join(sentence) for sentence in python_text._sentences("two", 9)] == [
        "a package is read with all its files ."
    ]


# -- stackoverflow

WORDS = ["the", "a", "sql", "page", "works"]
# User, sentences by split. As text, "12" comes before "9".
USERS = {
    ("9", "train"): ["the sql works", "a page", "a page works", "the page"],
    ("12", "train"): ["sql", "the café page <URL> works", "works"],
    ("12", "test"): ["a", "a", "a", "a"],
    ("3", "train"): ["the", "a"],
    ("7", "train"): ["page"] * 9,
    ("1", "heldout"): ["sql"] * 4,
}


def test_users_of_the_wanted_size_with_their_sentences_in_stored_order(tmp_path, any_checksum):
    """Users 12 and 9 of the training split have more than 2 and fewer than 9 sentences."""
    counts = "".join(f"{word} {10 - i}\n" for i, word in enumerate([*WORDS, "rare"])).encode()
    packed = toys.tar([("stackoverflow.word_count", counts)], "w:bz2")
    toys.put(tmp_path / "stackoverflow" / "stackoverflow.word_count.tar.bz2", packed)
    # A title longer than 127 bytes.
    users = {
        place: [toys.example(score=150, title="t" * 200, tokens=text) for text in texts]
        for place, texts in USERS.items()
    }
    toys.put(tmp_path / "stackoverflow" / "stackoverflow.sqlite.lzma", toys.database(users))
    options = {"users": 100, "min_samples": 2, "max_samples": 9, "vocabulary": 5, "length": 4}
    data = stackoverflow.prepare(tmp_path, stackoverflow.Config(**options), 0)
    assert data.metadata["classes"] == "9" and data.tensors["client"].tolist() == [0, 0, 0, 1, 1, 1, 1]
    the, a, sql, page, works = range(4, 9)
    assert data.tensors["inputs"].tolist() == [
        [1, sql, 2, 0],
        [1, the, 3, page],
        [1, works, 2, 0],
        [1, the, sql, works],
        [1, a, page, 2],
        [1, a, page, works],
        [1, the, page, 2],
    ]
    assert data.tensors["labels"].tolist() == [
        [sql, 2, -1, -1],
        [the, 3, page, 3],
        [works, 2, -1, -1],
        [the, sql, works, 2],
        [a, page, 2, -1],
        [a, page, works, 2],
        [the, page, 2, -1],
    ]
    assert "2 of the first 100 users, with more than 2 and fewer than 9 sentences" in data.metadata["source"]
