"""Reviews of several domains as tokens with a label: for sentiment classification.

A row is [CLS], the first tokens of a review, [SEP] and padding. The tokens are the word pieces of a pre-trained BERT,
or whole words of a vocabulary that is made from the training reviews.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairfl.data.interface import Prepared, assemble
from fairfl.data.words import sort_by_frequency
from fairfl.runtime.errors import DataError

PAD, UNKNOWN, CLS, SEP = range(4)

SPECIALS = 4
"""Tokens before the first word of a vocabulary of words: [PAD], [UNK], [CLS], [SEP]. BERT's padding is 0 too."""

CLASSES = 2
"""0 negative, 1 positive."""

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?|[^\sa-z0-9]")
_AT_ONCE = 4096  # reviews; bounds the memory of what the tokenizer returns


@dataclass(frozen=True)
class Reviews:
    """Reviews of one domain that belong to the training or to the test part of its data; labels int64 [n]."""

    texts: Sequence[str]
    labels: np.ndarray
    domain: int
    test: bool


@dataclass(frozen=True)
class Tokens:
    """A way to make rows of reviews: `encode(texts)` is int64 [N, length]; `described` goes into the data's source."""

    encode: Callable[[Sequence[str]], np.ndarray]
    described: str


def tokenize_words(texts: Sequence[str], size: int, length: int) -> Tokens:
    """Whole words and punctuation in lower case; the most frequent of these texts, `size` tokens with SPECIALS.

    Only words that fit into a row are counted. Words outside the vocabulary are [UNK].
    """
    frequent = sort_by_frequency(word for text in texts for word in split(text, length - 2))
    tokens = {word: token for token, word in enumerate(frequent[: size - SPECIALS], SPECIALS)}

    def encode(texts: Sequence[str]) -> np.ndarray:
        table = np.full((len(texts), length), PAD, dtype=np.int64)
        for row, text in zip(table, texts, strict=True):
            sentence = [CLS, *(tokens.get(word, UNKNOWN) for word in split(text, length - 2)), SEP]
            row[: len(sentence)] = sentence
        return table

    return Tokens(
        encode,
        f"words of a vocabulary of {len(tokens) + SPECIALS} tokens made from the training reviews",
    )


def split(text: str, most: int) -> list[str]:
    """The first words and punctuation marks of a text, in lower case."""
    return [match.group() for match in itertools.islice(_WORD.finditer(text.lower()), most)]


def tokenize_pieces(name: str, vocabulary: Path, length: int) -> Tokens:
    """Word pieces in lower case of the vocabulary of a BERT of this name, a file with one of them per line.

    Raises:
        DataError: the package `tokenizers` is missing, or the file is not such a vocabulary.
    """
    try:
        from tokenizers import BertWordPieceTokenizer
    except ImportError as error:
        raise DataError(
            "word pieces of a pre-trained BERT need transformers: pip install 'fairfl[text]'"
        ) from error
    try:
        pieces = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
    except Exception as error:  # what the library raises is a plain Exception or a TypeError
        raise DataError(f"{vocabulary}: not a vocabulary of word pieces ({error})") from error
    pieces.enable_truncation(length)
    pieces.enable_padding(length=length)

    def encode(texts: Sequence[str]) -> np.ndarray:
        table = np.empty((len(texts), length), dtype=np.int64)
        for start in range(0, len(texts), _AT_ONCE):
            encodings = pieces.encode_batch(list(texts[start : start + _AT_ONCE]))
            table[start : start + len(encodings)] = [row.ids for row in encodings]
        return table

    return Tokens(encode, f"{pieces.get_vocab_size()} word pieces of {name}")


def assemble_reviews(
    dataset: str, source: str, reviews: Sequence[Reviews], tokens: Tokens
) -> Prepared:
    """inputs int64 [N, length], labels, domain and official_test, one piece of `reviews` after the other.

    Raises:
        DataError: a label that is not 0 or 1.
    """
    sizes = [len(piece.texts) for piece in reviews]
    return assemble(
        dataset,
        CLASSES,
        f"{source}; {tokens.described}",
        np.concatenate([tokens.encode(piece.texts) for piece in reviews]),
        np.concatenate([piece.labels for piece in reviews]),
        domain=np.repeat([piece.domain for piece in reviews], sizes),
        official_test=np.repeat([piece.test for piece in reviews], sizes),
    )
