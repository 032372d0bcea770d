"""Stack Overflow, questions and answers by user, for next-word prediction (TensorFlow Federated, 2019).

Texts of users with at least 100 sentences, in lower case, with words and punctuation apart; CC BY-SA 3.0. Of the two
published forms this one needs the standard library alone: a database (data/formats/tff.py), and the word counts of the
training users, most frequent first.

The defaults are those of VRed, as far as its text and the public code of the same group (FairFL,
generate_StackOverflow_nwp.py) tell.
"""

from __future__ import annotations

import io
import itertools
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data import words
from fairfl.data.checks import usable
from fairfl.data.formats import archives, tff
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.data.options import choice, merge, whole
from fairfl.runtime.errors import DataError, OptionError

CLASSES = 10_004
PER_SEED = False
DEFAULTS: dict[str, Any] = {
    "users": 10_000,
    "min_samples": 10_000,
    "max_samples": 12_500,
    "vocabulary": 10_000,
    "length": 20,
    "order": "stored",
    "count_pad": False,
}

_NAME = "stackoverflow"
_ORDERS = ("stored", "drawn")
_BASE = "https://storage.googleapis.com/tff-datasets-public/"
_DATABASE = RemoteFile(
    "stackoverflow.sqlite.lzma",
    (_BASE + "stackoverflow.sqlite.lzma",),
    why_no_sha256="upstream publishes none",
    max_bytes=32 * 2**30,
)
_COUNTS = RemoteFile(
    "stackoverflow.word_count.tar.bz2",
    (_BASE + "stackoverflow.word_count.tar.bz2",),
    sha256=("1dc00256d6e527c54b9756d968118378ae14e6692c0b3b6cad470cdd3f0c519c",),
)
_COUNTS_MEMBER = "stackoverflow.word_count"
_COUNTS_BYTES = 512 * 2**20
_MAX_DATABASE_BYTES = 256 * 2**30


def files(options: dict[str, Any]) -> tuple[RemoteFile, ...]:
    """The database and the word counts."""
    _checked(options)
    return _DATABASE, _COUNTS


def prepare(raw: Path | None, options: dict[str, Any], seed: int) -> Prepared:
    """inputs and labels int64 [N, length]: a row is a sentence; client: number of its user, from 0.

    Users are those of the training split, in the order of their ids as text. The database is unpacked into a temporary
    folder beside the packed file (tens of gigabytes) and read user by user.

    Options:
        users: how many users are looked at (default 10000, as in FairFL).
        min_samples, max_samples: of these are kept who have more and fewer sentences than this (default 10000 as in
            VRed, 12500 as in a comment of FairFL: "this results in 20 clients").
        vocabulary: most frequent words (default 10000); with padding, begin, end and unknown word 10004 classes.
        length: words of a sentence that are read (default 20).
        order: "stored" (default), a user's sentences as they are; or "drawn", as many draws from them with
            replacement, which is what FairFL's generator does: half of them for training and half for testing then
            share sentences. The draws do not depend on the run's seed.
        count_pad: true if padding is to be predicted like a word; false by default. The papers do not say; VRed's
            accuracy of 38 to 43 percent is high for this data set and may include it.

    Raises:
        OptionError: an unknown option or a value that is not allowed.
        SourceError, DataError: a file is missing, damaged or not as expected, or no user is left.
        OSError: the database cannot be unpacked.
    """
    chosen = _checked(options)
    tokens = words.vocabulary(_most_frequent(usable(raw, _COUNTS, _NAME), chosen["vocabulary"]))
    inputs, labels = [], []
    with tff.database(usable(raw, _DATABASE, _NAME), _MAX_DATABASE_BYTES) as database:
        users = _users(database, chosen)
        for number, (user, count) in enumerate(users.items()):
            x, y = words.encode(_sentences(database, user), tokens, chosen["length"], chosen["count_pad"])
            if len(x) != count:
                raise DataError(f"{_DATABASE.name}: user {user} has {len(x)} sentences; expected {count}")
            rows = _order(number, count, chosen["order"])
            inputs.append(x[rows])
            labels.append(y[rows])
    source = (
        f"Stack Overflow by user (TensorFlow Federated), training split: {len(users)} of the first {chosen['users']} "
        f"users, with more than {chosen['min_samples']} and fewer than {chosen['max_samples']} sentences"
    )
    return assemble(
        _NAME,
        chosen["vocabulary"] + words.SPECIALS,
        source,
        np.concatenate(inputs),
        np.concatenate(labels),
        client=np.repeat(np.arange(len(users)), [len(x) for x in inputs]),
    )


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    chosen = merge(_NAME, options, DEFAULTS)
    words.check(_NAME, chosen)
    for name, low in (("users", 1), ("min_samples", 0), ("max_samples", 2)):
        whole(_NAME, name, chosen[name], low)
    if chosen["max_samples"] <= chosen["min_samples"] + 1:
        raise OptionError(
            f"{_NAME}: option max_samples is {chosen['max_samples']}; expected more than min_samples + 1, "
            f"which is {chosen['min_samples'] + 1}"
        )
    choice(_NAME, "order", chosen["order"], _ORDERS)
    return chosen


def _most_frequent(path: Path, count: int) -> list[str]:
    """The first words of the published list, which is sorted by the number of users of each word."""
    contents = dict(archives.members(path, lambda name: name == _COUNTS_MEMBER, _COUNTS_BYTES))
    lines = io.BytesIO(contents.get(_COUNTS_MEMBER, b""))
    found = [line.split()[0].decode("utf-8", "replace") for line in itertools.islice(lines, count) if line.strip()]
    if len(found) < count:
        raise DataError(f"{path.name}: {_COUNTS_MEMBER} has {len(found)} words; option vocabulary asks for {count}")
    return found


def _users(database: sqlite3.Connection, chosen: dict[str, Any]) -> dict[str, int]:
    """Sentences of each user to keep, by user id; ids sorted as text."""
    sizes = tff.users(database, "train")[: chosen["users"]]
    kept = {user: count for user, count in sizes if chosen["min_samples"] < count < chosen["max_samples"]}
    if not kept:
        raise DataError(
            f"{_DATABASE.name}: none of {len(sizes)} users has more than {chosen['min_samples']} "
            f"and fewer than {chosen['max_samples']} sentences"
        )
    return kept


def _sentences(database: sqlite3.Connection, user: str) -> Iterator[list[str]]:
    """Words of each sentence of a user, in stored order."""
    for example in tff.examples(database, "train", user):
        yield tff.text(example, "tokens").decode("utf-8", "replace").split()


def _order(user: int, count: int, order: str) -> np.ndarray:
    """Rows of a user, [count]."""
    if order == "stored":
        return np.arange(count)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([0, user]))).integers(count, size=count)
