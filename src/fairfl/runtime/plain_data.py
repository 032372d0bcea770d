"""Plain data from outside (YAML, JSON, command lines): what they may hold, and how to show them in one short line.

Numbers are finite and fit into 64 bits, texts can be written as UTF-8, and there is an end to depth and size. So what
reads such data later never meets a value that Python itself stumbles over: a number too long to print, a structure too
deep to walk through, aliases that a kilobyte of YAML blows up to gigabytes.
"""

import math
import re
import reprlib
from collections.abc import Iterable
from typing import Any

DEEPEST = 50
MOST = 1_000_000
_LARGEST = 2**63
_LONGEST_LINE = 500


class Fault(Exception):
    """Something that plain data may not hold; `key` says where, "" for the whole."""

    def __init__(self, at: tuple, what: str) -> None:
        super().__init__(what)
        self.key, self.what = format_place(at), what


class _Short(reprlib.Repr):
    """`repr` of anything in bounded time."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = 12
        self.maxstring = self.maxother = 60

    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to print more than 4300 digits.
        return repr(value) if value.bit_length() <= 200 else f"a whole number of {value.bit_length()} bits"


_SHORT = _Short()


def shown(value: Any) -> str:
    """A value for messages: `repr` of at most 60 characters, in one line."""
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def few(names: Iterable[str], most: int = 8) -> str:
    """Names with commas between them, each of 40 characters at most; of many the first and their number."""
    names = list(names)
    short = [name if len(name) <= 40 else name[:37] + "..." for name in names[:most]]
    return ", ".join(short) + (f", ... ({len(names):,} in all)" if len(names) > most else "")


def one_line(text: str) -> str:
    """A message, which may quote anything, as one line of bounded length."""
    text = " ".join(text.splitlines())
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 3] + "..."


def format_place(at: tuple) -> str:
    """A place in nested data, 'patches.0.set'; a key that would tear the line apart as `repr` shows it."""
    parts = [part if isinstance(part, str) and part.isprintable() and len(part) <= 60 else shown(part) for part in at]
    return ".".join(part for part in parts if part)


def size(value: Any) -> int:
    """Number of values in nested data, aliases counted each time. Raises Fault at the first that is not plain."""
    return _size(value, (), {})


def _size(value: Any, at: tuple, known: dict[int, int]) -> int:
    if not isinstance(value, dict | list | tuple):
        _check_scalar(value, at)
        return 1
    if len(at) > DEEPEST:
        raise Fault((), f"nested more than {DEEPEST} deep, or in a circle")
    if id(value) not in known:
        for key in value if isinstance(value, dict) else ():
            if not isinstance(key, str | int | float | bool):
                raise Fault(at, f"key {shown(key)} is not a plain value")
            _check_scalar(key, at)
        items = value.items() if isinstance(value, dict) else enumerate(value)
        known[id(value)] = 1 + sum(_size(part, (*at, key), known) for key, part in items)
        if known[id(value)] > MOST:
            raise Fault((), f"more than {MOST} values, aliases (*name) counted each time")
    return known[id(value)]


def _check_scalar(value: Any, at: tuple) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise Fault(at, f"{shown(value)}: a text has no zero byte")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Fault(at, f"{shown(value)}: not text that UTF-8 can write") from None
    elif isinstance(value, int):
        if not -_LARGEST <= value < _LARGEST:
            raise Fault(at, f"{shown(value)}: a whole number has at most 64 bits")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise Fault(at, f"{value}: not a finite number")
    elif value is not None:
        raise Fault(at, f"{shown(value)}: not a plain value (text, number, true, false, null, list or mapping)")


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_LONGEST_NAME = 100


def name(text: str) -> str:
    """A name that files and folders can have on every system. Raises ValueError."""
    if not _NAME.fullmatch(text):
        raise ValueError(f"{shown(text)} cannot be the name of a file: use letters, digits, _ . -")
    return short_enough(text)


def short_enough(text: str) -> str:
    """Raises ValueError if a text is too long for a part of a file's name."""
    if len(text) > _LONGEST_NAME:
        raise ValueError(f"{shown(text)} is too long for the name of a file: {len(text)} of {_LONGEST_NAME} characters")
    return text


def different(values: Iterable[Any]) -> None:
    """Raises ValueError with the first value that is given twice."""
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{shown(value)} is given twice")
        seen.add(value)
