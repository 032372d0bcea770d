"""English text that ships with Python, by topic, for next-word prediction without any file to fetch.

A stand-in for data of many writers: a client is a topic, its sentences are from the documentation strings of some
modules of the standard library (Python Software Foundation License), which are read from the source files and not
from the running modules, so `python -OO` makes no difference. Topics differ in what they speak of and in how.
"""

import ast
import itertools
import platform
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pydantic import Field

from fairfl.data import words
from fairfl.data.interface import Prepared, assemble
from fairfl.experiments.base import Natural, Strict
from fairfl.runtime.errors import DataError

TOPICS = {
    "mail": "email mailbox",
    "decimal numbers": "_pydecimal fractions numbers",
    "comparing text": "difflib textwrap string",
    "web": "http urllib wsgiref xmlrpc",
    "logs": "logging warnings",
    "event loops": "asyncio",
    "addresses": "ipaddress socket socketserver ssl",
    "testing": "unittest doctest",
    "markup": "xml html",
    "imports": "importlib pkgutil zipimport runpy",
    "streams": "_pyio codecs encodings",
    "archives": "tarfile zipfile gzip bz2 lzma",
    "types": "typing enum dataclasses types",
    "threads": "threading multiprocessing concurrent queue",
    "files": "os pathlib shutil tempfile posixpath fileinput",
    "settings": "configparser argparse optparse getopt cmd",
    "mail servers": "smtplib imaplib poplib ftplib",
    "inspection": "inspect ast dis symtable pydoc",
    "debuggers": "pdb bdb traceback trace timeit",
    "chance": "random statistics heapq bisect functools collections",
}
"""Modules and packages of each topic, in all versions of Python from 3.11 on."""


_NAME = "python_text"
_SHORTEST = 4  # words; shorter pieces are headings and remarks like "See above."
_WORD = re.compile(r"[a-z_]+(?:['-][a-z]+)*|[0-9]+|[.,:;!?()]")
_END = re.compile(r"(?<=[.!?])\s+")


class Config(Strict):
    """Options of the data set."""

    topics: int = Field(10, ge=1, le=20, description="the first n of TOPICS")
    sentences: Natural = Field(200, description="most sentences of a topic, each only once")
    vocabulary: Natural = Field(
        500, description="most frequent words; four special tokens come on top"
    )
    length: Natural = Field(10, description="words of a sentence that are read")
    count_pad: bool = Field(False, description="padding is to be predicted like a word")


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs and labels int64 [N, length]: a row is a sentence; client: number of its topic, in the order of TOPICS.

    The same version of Python gives the same data; ``source`` names it.

    Raises:
        DataError: this Python comes without the sources of its library.
    """
    topics = list(TOPICS)[: options.topics]
    texts = [_sentences(topic, options.sentences) for topic in topics]
    every = [sentence for text in texts for sentence in text]
    tokens = words.number_words(
        words.sort_by_frequency(itertools.chain(*every)), options.vocabulary
    )
    inputs, labels = words.encode(every, tokens, options.length, options.count_pad)
    source = (
        f"stand-in for texts of many writers: sentences of the documentation of Python {platform.python_version()}, "
        f"{len(topics)} topics of its standard library as clients"
    )
    client = np.repeat(np.arange(len(topics)), [len(text) for text in texts])
    return assemble(
        _NAME, options.vocabulary + words.SPECIALS, source, inputs, labels, client=client
    )


def _sentences(topic: str, most: int) -> list[tuple[str, ...]]:
    """Different sentences of a topic as words, the first `most` of them."""
    sentences: dict[tuple[str, ...], None] = {}
    for path in _sources(topic):
        for text in _documentation(path):
            sentences.update(dict.fromkeys(_split(text)))
        if len(sentences) >= most:
            break
    return list(sentences)[:most]


def _sources(topic: str) -> list[Path]:
    """Source files of the modules of a topic, of packages every file but tests."""
    library = Path(sysconfig.get_path("stdlib"))
    paths = []
    for module in TOPICS[topic].split():
        package = library / module
        files = sorted(package.rglob("*.py")) if package.is_dir() else [package.with_suffix(".py")]
        paths += [
            path
            for path in files
            if path.is_file() and "test" not in path.relative_to(library).parts
        ]
    if not paths:
        raise DataError(
            f"{_NAME}: {library} holds no sources of {TOPICS[topic]}; "
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
            tokens = tuple(_WORD.findall(sentence.lower()))
            if len(tokens) >= _SHORTEST and sentence.endswith((".", "!", "?")):
                yield tokens
