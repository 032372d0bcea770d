"""Reddit, comments of December 2017 by user, for next-word prediction (LEAF, Caldas et al. 2018; the small sample).

The archive is the subsampled version that LEAF's own model reads. A comment is begin, its words, end, cut into pieces
of ten tokens, the last one padded; a piece comes with the tokens that follow each of its own. The first 60 % of a
user's comments are its training part, the next 20 % are for validation, the last 20 % for testing.

The defaults are from AAggFF's public code (vaseline555/AAggFF, commands/cross_device/reddit and
src/datasets/leaf/preprocess/reddit.py), which FedEBA+ compares with: 817 users, no validation part, and words as the
only targets: its loss and its accuracy pass over padding, unknown words and the end of a comment.
"""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from fairfl.data import words
from fairfl.data.checks import usable
from fairfl.data.formats import archives
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Natural, Strict
from fairfl.runtime import plain_data
from fairfl.runtime.errors import DataError
from fairfl.values.json_text import from_json

_NAME = "reddit"
_LENGTH = 10
# Tokens that are not to be predicted.
_TARGETS = {"words": (words.PAD, words.BEGIN, words.END, words.UNKNOWN), "tokens": (words.PAD,)}
_VALIDATION = {"left_out": "left out", "train": "in training"}
_SPECIALS = {"<PAD>": words.PAD, "<BOS>": words.BEGIN, "<EOS>": words.END, "<UNK>": words.UNKNOWN}
# Upstream publishes no checksum.
_ARCHIVE = RemoteFile(
    "reddit_subsampled.zip",
    (
        "https://drive.usercontent.google.com/download?id=1ISzp69JmaIJqBpQCX-JJ8-kVyUns8M7o&export=download&confirm=t",
        "https://paddle-serving.bj.bcebos.com/temporary_files_for_docker/reddit_subsampled.zip",
    ),
    magic="zip",
)

# A piece of a comment: ten words, and the word that follows each.
_Piece = tuple[list[str], list[str]]


class Config(Strict):
    """Options of the data set."""

    vocabulary: Natural = Field(
        9_996,
        description="most frequent words of the training part; four special tokens come on top",
    )
    targets: Literal["words", "tokens"] = Field(
        "words", description="to be predicted; tokens: unknown words and the end too"
    )
    validation: Literal["left_out", "train"] = Field(
        "left_out",
        description="left_out: 75 % for training and 25 % for testing remain; train: it joins the training",
    )


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The archive with the three parts."""
    return (_ARCHIVE,)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs and labels int64 [N, 10]: a row is a piece of a comment; client: number of its user, from 0.

    Users are in stored order; of a user the training pieces come first, and official_test is 1 for pieces of the test
    part. Pieces without a target, and users without a training piece, are left out; ``source`` counts the others.

    Raises:
        SourceError, DataError: the archive is missing, damaged or not as expected.
    """
    path = usable(raw, _ARCHIVE, _NAME)
    training = _read(path, "train")
    pieces = itertools.chain.from_iterable(training.values())
    every = (word for piece, _ in pieces for word in piece if word not in _SPECIALS)
    tokens = _SPECIALS | words.number_words(words.sort_by_frequency(every), options.vocabulary)
    if options.validation == "train":
        more = _of(training, _read(path, "val"), path)
        training = {user: pieces + more[user] for user, pieces in training.items()}
    parts = training, _of(training, _read(path, "test"), path)
    stored = [part[user] for user in training for part in parts]
    sizes = list(map(len, stored))
    owner, test = np.repeat(np.divmod(np.arange(len(stored)), len(parts)), sizes, axis=1)
    rows = list(itertools.chain.from_iterable(stored))
    inputs, labels = _encoded(rows, tokens, _TARGETS[options.targets])
    has_target = (labels >= 0).any(1)
    users = np.unique(owner[has_target & (test == 0)])
    is_kept = has_target & np.isin(owner, users)
    source = (
        f"Reddit by user (LEAF, small sample), {len(users)} of {len(training)} users with a training piece, validation "
        f"part {_VALIDATION[options.validation]}; {is_kept.sum()} of {len(is_kept)} pieces, those that have a target"
    )
    return assemble(
        _NAME,
        options.vocabulary + words.SPECIALS,
        source,
        inputs[is_kept],
        labels[is_kept],
        client=np.searchsorted(users, owner[is_kept]),
        official_test=test[is_kept],
    )


def _read(path: Path, part: str) -> dict[str, list[_Piece]]:
    """Pieces of each user of a part, users and pieces in stored order."""
    name = f"new_small_data/{part}_data.json"
    try:
        stored = from_json(archives.read_zip_member(path, name))
        plain_data.different(stored["users"])
        return {user: _pieces(stored["user_data"][user]) for user in stored["users"]}
    except (ValueError, TypeError, LookupError) as error:
        raise DataError(
            f"{path.name}: {name} is not in LEAF's form ({type(error).__name__}: {error})"
        ) from error


def _pieces(stored: dict[str, Any]) -> list[_Piece]:
    """Pieces of all comments of a user. Raises ValueError, TypeError or KeyError if they are not in LEAF's form."""
    pieces = []
    for comment, about in zip(stored["x"], stored["y"], strict=True):
        # Some comments have the targets themselves, most have them among other facts.
        following = about if isinstance(about, list) else about["target_tokens"]
        for piece, targets in zip(comment, following, strict=True):
            if not len(piece) == len(targets) == _LENGTH:
                raise ValueError(
                    f"a piece of {len(piece)} words with {len(targets)} targets; expected {_LENGTH}"
                )
            if not all(isinstance(word, str) for word in (*piece, *targets)):
                raise TypeError("a word is not a text")
            pieces.append((piece, targets))
    return pieces


def _of(users: Iterable[str], part: dict[str, list[_Piece]], path: Path) -> dict[str, list[_Piece]]:
    """A part with the users in this order; raises DataError if it is of other users."""
    if set(users) != set(part):
        raise DataError(f"{path.name}: its parts do not have the same users")
    return {user: part[user] for user in users}


def _encoded(
    pieces: list[_Piece], tokens: dict[str, int], ignored: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels, int64 [n, 10]; the label is -1 where the next token is one that is not asked for."""
    table = [
        [[tokens.get(word, words.UNKNOWN) for word in half] for half in piece] for piece in pieces
    ]
    inputs, following = np.array(table, dtype=np.int64).reshape(-1, 2, _LENGTH).swapaxes(0, 1)
    return inputs, np.where(np.isin(following, ignored), -1, following)
