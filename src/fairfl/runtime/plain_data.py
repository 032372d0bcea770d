"""Plain data from outside (YAML, JSON, command lines): what is in them, and how to show it in one short line."""

import re
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

_LONGEST_LINE = 500


_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxfrozenset = 12
_SHORT.maxstring = _SHORT.maxother = 60


def shown(value: Any) -> str:
    """A value for messages: `repr` of at most 60 characters, in one line."""
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def few(names: Iterable[str], most: int = 8) -> str:
    """Names with commas between them, each of 40 characters at most; of many the first and their number."""
    names = list(names)
    short = [name if len(name) <= 40 else name[:37] + "..." for name in names[:most]]
    short = [name if name.isprintable() else shown(name) for name in short]
    return ", ".join(short) + (f", ... ({len(names):,} in all)" if len(names) > most else "")


def one_line(text: str) -> str:
    """A message, which may quote anything, as one line of bounded length."""
    text = " ".join(text.splitlines())
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 3] + "..."


def format_place(at: tuple) -> str:
    """A place in nested data, 'patches.0.set'; a key that would tear the line apart as `repr` shows it."""
    parts = [
        part if isinstance(part, str) and part.isprintable() and len(part) <= 60 else shown(part)
        for part in at
    ]
    return ".".join(part for part in parts if part)


def leaves(value: Any, at: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """(place, value) of each value in nested data, dataclasses among them, that holds no others."""
    value = vars(value) if is_dataclass(value) else value
    if isinstance(value, dict | list | tuple):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*at, key))
    else:
        yield at, value


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
        raise ValueError(
            f"{shown(text)} is too long for the name of a file: {len(text)} of {_LONGEST_NAME} characters"
        )
    return text


def different(values: Iterable[Any]) -> None:
    """Raises ValueError with the first value that is given twice."""
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{shown(value)} is given twice")
        seen.add(value)


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table as text."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]


def span(seconds: float) -> str:
    """'48 s', '12 min 3 s', '3 h 20 min'."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole < 1200 else f"{round(whole / 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
