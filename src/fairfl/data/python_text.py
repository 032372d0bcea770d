"""English text that ships with Python, by topic, for next-word prediction without any file to fetch.

A stand-in for data of many writers: a client is a topic, its sentences are those of the documentation strings of some
modules of the standard library (Python Software Foundation License), which are read from the source files and not
from the running modules, so `python -OO` makes no difference. Topics differ in what they speak of and in how.
"""

from __future__ import annotations

import ast
import collections
import platform
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data import words
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.data.options import merge, whole
from fairfl.runtime.errors import DataError, OptionError

TOPICS: dict[str, tuple[str, ...]] = {
    "mail": ("email", "mailbox"),
    "decimal numbers": ("_pydecimal", "fractions", "numbers"),
    "comparing text": ("difflib", "textwrap", "string"),
    "web": ("http", "urllib", "wsgiref", "xmlrpc"),
    "logs": ("logging", "warnings"),
    "event loops": ("asyncio",),
    "addresses": ("ipaddress", "socket", "socketserver", "ssl"),
    "testing": ("unittest", "doctest"),
    "markup": ("xml", "html"),
    "imports": ("importlib", "pkgutil", "zipimport", "runpy"),
    "streams": ("_pyio", "codecs", "encodings"),
    "archives": ("tarfile", "zipfile", "gzip", "bz2", "lzma"),
    "types": ("typing", "enum", "dataclasses", "types"),
    "threads": ("threading", "multiprocessing", "concurrent", "queue"),
    "files": ("os", "pathlib", "shutil", "tempfile", "posixpath", "fileinput"),
    "settings": ("configparser", "argparse", "optparse", "getopt", "cmd"),
    "mail servers": ("smtplib", "imaplib", "poplib", "ftplib"),
    "inspection": ("inspect", "ast", "dis", "symtable", "pydoc"),
    "debuggers": ("pdb", "bdb", "traceback", "trace", "timeit"),
    "chance": ("random", "statistics", "heapq", "bisect", "functools", "collections"),
}
"""Modules and packages of each topic, in all versions of Python from 3.11 on."""

CLASSES = 504
PER_SEED = False
DEFAULTS: dict[str, Any] = {"topics": 10, "sentences": 200, "vocabulary": 500, "length": 10, "count_pad": False}

_NAME = "python_text"
_SHORTEST = 4  # words; shorter pieces are headings and remarks like "See above."
_WORD = re.compile(r"[a-z_]+(?:['-][a-z]+)*|[0-9]+|[.,:;!?()]")
_END = re.compile(r"(?<=[.!?])\s+")


def files(options: dict[str, Any]) -> tuple[RemoteFile, ...]:
    """None: the text comes with Python."""
    _checked(options)
    return ()


def prepare(raw: Path | None, options: dict[str, Any], seed: int) -> Prepared:
    """inputs and labels int64 [N, length]: a row is a sentence; client: number of its topic, in the order of TOPICS.

    The same version of Python gives the same data; ``source`` names it.

    Options:
        topics: the first so many of TOPICS (default 10).
        sentences: most sentences of a topic, the first in the order of its modules (default 200); each only once.
        vocabulary: most frequent words of all topics (default 500); with padding, begin, end and unknown word 504
            classes.
        length: words of a sentence that are read (default 10).
        count_pad: true if padding is to be predicted like a word (default false).

    Raises:
        OptionError: an unknown option or a value that is not allowed.
        DataError: this Python comes without the sources of its library.
    """
    chosen = _checked(options)
    topics = list(TOPICS)[: chosen["topics"]]
    texts = [_sentences(topic, chosen["sentences"]) for topic in topics]
    counts = collections.Counter(word for text in texts for sentence in text for word in sentence)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[: chosen["vocabulary"]]
    if len(frequent) < chosen["vocabulary"]:
        raise OptionError(
            f"{_NAME}: option vocabulary is {chosen['vocabulary']}; the text has only {len(frequent)} different words"
        )
    tokens = words.vocabulary(frequent)
    every = (sentence for text in texts for sentence in text)
    inputs, labels = words.encode(every, tokens, chosen["length"], chosen["count_pad"])
    source = (
        f"stand-in for texts of many writers: sentences of the documentation of Python {platform.python_version()}, "
        f"{len(topics)} topics of its standard library as clients"
    )
    client = np.repeat(np.arange(len(topics)), [len(text) for text in texts])
    return assemble(_NAME, chosen["vocabulary"] + words.SPECIALS, source, inputs, labels, client=client)


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    chosen = merge(_NAME, options, DEFAULTS)
    words.check(_NAME, chosen)
    whole(_NAME, "sentences", chosen["sentences"], 1)
    if whole(_NAME, "topics", chosen["topics"], 1) > len(TOPICS):
        raise OptionError(f"{_NAME}: option topics is {chosen['topics']}; expected at most {len(TOPICS)}")
    return chosen


def _sentences(topic: str, most: int) -> list[tuple[str, ...]]:
    """Different sentences of a topic as words, the first `most` of them."""
    found: dict[tuple[str, ...], None] = {}
    for path in _sources(topic):
        for text in _documentation(path):
            found.update(dict.fromkeys(_split(text)))
        if len(found) >= most:
            break
    return list(found)[:most]


def _sources(topic: str) -> list[Path]:
    """Source files of the modules of a topic, of packages every file but tests."""
    library = Path(sysconfig.get_path("stdlib"))
    paths = []
    for module in TOPICS[topic]:
        package = library / module
        own = sorted(package.rglob("*.py")) if package.is_dir() else [package.with_suffix(".py")]
        paths += [path for path in own if path.is_file() and "test" not in path.relative_to(library).parts]
    if not paths:
        raise DataError(
            f"{_NAME}: {library} holds no sources of {', '.join(TOPICS[topic])}; "
            "use a Python that is installed with its library as .py files"
        )
    return paths


def _documentation(path: Path) -> Iterator[str]:
    """Documentation strings of a source file, from top to bottom."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{_NAME}: {path} cannot be read ({error})") from error
    owners = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for node in sorted(owners, key=lambda node: getattr(node, "lineno", 0)):
        text = ast.get_docstring(node)
        if text:
            yield text


def _split(text: str) -> Iterator[tuple[str, ...]]:
    """Sentences of the paragraphs of a text, in lower case; lists, tables and programs are left out."""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        if any(line.startswith((" ", ">>>", "...")) for line in lines):
            continue
        for sentence in _END.split(" ".join(lines)):
            found = tuple(_WORD.findall(sentence.lower()))
            if len(found) >= _SHORTEST and sentence.endswith((".", "!", "?")):
                yield found
