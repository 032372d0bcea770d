"""Sentences as tokens, and which token is to be predicted after each: for next-word data sets.

The preparation is TensorFlow Federated's: a sentence is begin, its words, end; of this at most ``length`` + 1
tokens are kept, so a long sentence has no end; inputs are all tokens but the last, labels all but the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fairfl.runtime.errors import OptionError

PAD, BEGIN, END, UNKNOWN = range(4)

SPECIALS = 4
"""Tokens before the first word: padding, begin and end of a sentence, any word outside the vocabulary."""


def sort_by_frequency(words: Iterable[str]) -> list[str]:
    """The different words, the most frequent first; of equally frequent ones the first of the alphabet."""
    counts = Counter(words)
    return sorted(counts, key=lambda word: (-counts[word], word))


def number_words(words: Sequence[str], count: int) -> dict[str, int]:
    """Token of each of the first words, from SPECIALS on. Raises OptionError if there are fewer."""
    if len(words) < count:
        raise OptionError(
            f"option vocabulary is {count}; the text has only {len(words)} different words"
        )
    return {word: token for token, word in enumerate(words[:count], SPECIALS)}


def encode(
    sentences: Iterable[Sequence[str]], tokens: Mapping[str, int], length: int, count_pad: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels, both int64 [N, length]; the label after the end of a sentence is -1 (nothing is asked).

    Args:
        tokens: token of each known word; other words are UNKNOWN.
        count_pad: padding is to be predicted like a word: its label is PAD.
    """
    rows = []
    for sentence in sentences:
        row = [BEGIN, *(tokens.get(word, UNKNOWN) for word in sentence[:length]), END][: length + 1]
        rows.append(row + [PAD] * (length + 1 - len(row)))
    table = np.array(rows, dtype=np.int64).reshape(-1, length + 1)
    inputs, labels = table[:, :-1].copy(), table[:, 1:].copy()
    if not count_pad:
        labels[labels == PAD] = -1
    return inputs, labels
