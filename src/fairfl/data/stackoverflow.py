"""Stack Overflow, questions and answers by user, for next-word prediction (TensorFlow Federated, 2019).

Texts of users with at least 100 sentences, in lower case, with words and punctuation apart; CC BY-SA 3.0. Of the two
published forms this one needs the standard library alone: a database (data/formats/tff.py), and the word counts of the
training users, most frequent first.

The defaults are from VRed, as far as its text and the public code of the same group (FairFL,
generate_StackOverflow_nwp.py) tell.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from fairfl.data import words
from fairfl.data.checks import usable
from fairfl.data.formats import archives, tff
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Natural, Strict, Whole
from fairfl.runtime.errors import DataError

_NAME = "stackoverflow"
_BASE = "https://storage.googleapis.com/tff-datasets-public/"
# Upstream publishes no checksum of it.
_DATABASE = RemoteFile(
    "stackoverflow.sqlite.lzma",
    (_BASE + "stackoverflow.sqlite.lzma",),
)
_COUNTS = RemoteFile(
    "stackoverflow.word_count.tar.bz2",
    (_BASE + "stackoverflow.word_count.tar.bz2",),
    sha256=("1dc00256d6e527c54b9756d968118378ae14e6692c0b3b6cad470cdd3f0c519c",),
)
_COUNTS_MEMBER = "stackoverflow.word_count"


class Config(Strict):
    """Options of the data set."""

    users: Natural = Field(10_000, description="how many are looked at, as in FairFL")
    min_samples: Whole = Field(
        10_000,
        description="users with more sentences than this are kept, as in FairFL",
    )
    max_samples: int = Field(
        12_500, ge=2, lt=2**32, description="users with fewer sentences than this are kept"
    )
    vocabulary: Natural = Field(
        10_000, description="most frequent words; four special tokens come on top"
    )
    length: Natural = Field(20, description="words of a sentence that are read")
    count_pad: bool = Field(
        False, description="padding is to be predicted like a word; the papers do not say"
    )
    order: Literal["stored", "drawn"] = Field(
        "stored",
        description="drawn: as many draws with replacement from a user's sentences, as FairFL's code does",
    )

    @model_validator(mode="after")
    def _range(self) -> "Config":
        if self.max_samples <= self.min_samples + 1:
            raise ValueError(
                f"max_samples is {self.max_samples}; expected more than min_samples + 1, "
                f"which is {self.min_samples + 1}"
            )
        return self


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The database and the word counts."""
    return _DATABASE, _COUNTS


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs and labels int64 [N, length]: a row is a sentence; client: number of its user, from 0.

    Users are from the training split, in the order of their ids as text. The database is unpacked into a temporary
    folder beside the packed file (tens of gigabytes) and read user by user.

    Raises:
        SourceError, DataError: a file is missing, damaged or not as expected, or no user is left.
        OSError: the database cannot be unpacked.
    """
    frequent = _most_frequent(usable(raw, _COUNTS, _NAME), options.vocabulary)
    tokens = words.number_words(frequent, options.vocabulary)
    inputs, labels = [], []
    with tff.open_database(usable(raw, _DATABASE, _NAME)) as database:
        users = _users(database, options)
        for number, (user, count) in enumerate(users.items()):
            sentences = _sentences(database, user)
            x, y = words.encode(sentences, tokens, options.length, options.count_pad)
            if len(x) != count:
                raise DataError(
                    f"{_DATABASE.name}: user {user} has {len(x)} sentences; expected {count}"
                )
            if options.order == "drawn":
                rows = np.random.default_rng([0, number]).integers(count, size=count)
                x, y = x[rows], y[rows]
            inputs.append(x)
            labels.append(y)
    source = (
        f"Stack Overflow by user (TensorFlow Federated), training split: {len(users)} of the first {options.users} "
        f"users, with more than {options.min_samples} and fewer than {options.max_samples} sentences"
    )
    return assemble(
        _NAME,
        options.vocabulary + words.SPECIALS,
        source,
        np.concatenate(inputs),
        np.concatenate(labels),
        client=np.repeat(np.arange(len(users)), [len(x) for x in inputs]),
    )


def _most_frequent(path: Path, count: int) -> list[str]:
    """The first words of the published list, which is sorted by the number of users of each word."""
    ((_, text),) = archives.read_members(path, _COUNTS_MEMBER.__eq__)
    lines = text.split(b"\n", count)[:count]
    return [line.split()[0].decode("utf-8", "replace") for line in lines if line.strip()]


def _users(database: sqlite3.Connection, options: Config) -> dict[str, int]:
    """Sentences of each user to keep, by user id; ids sorted as text."""
    sizes = tff.list_users(database, "train")[: options.users]
    users = {
        user: count for user, count in sizes if options.min_samples < count < options.max_samples
    }
    if not users:
        raise DataError(
            f"{_DATABASE.name}: none of {len(sizes)} users has more than {options.min_samples} "
            f"and fewer than {options.max_samples} sentences"
        )
    return users


def _sentences(database: sqlite3.Connection, user: str) -> Iterator[list[str]]:
    """Words of each sentence of a user, in stored order."""
    for example in tff.read_examples(database, "train", user):
        yield tff.read_text(example, "tokens").decode("utf-8", "replace").split()
