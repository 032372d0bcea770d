"""Options of a data set: defaults, and errors that name what was wrong and what is near."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any

from fairfl.runtime.errors import OptionError
from fairfl.runtime.json_text import from_json
from fairfl.runtime.plain import shown

_LARGEST = 2**32 - 1  # of seeds; nothing else comes near it


def merge(dataset: str, options: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """``defaults`` overlaid with ``options``.

    Raises:
        OptionError: an option that ``defaults`` does not have.
    """
    for name in options:
        if name not in defaults:
            if not defaults:
                raise OptionError(f"{dataset}: unknown option {shown(name)}; it has no options")
            raise OptionError(f"{dataset}: unknown option {shown(name)}; {_near(name, defaults)}")
    return {**defaults, **options}


def choice(dataset: str, name: str, value: object, valid: Iterable[str]) -> str:
    """``value`` if it is one of ``valid``; raises OptionError otherwise."""
    names = list(valid)
    if not isinstance(value, str) or value not in names:
        raise OptionError(f"{dataset}: option {name} is {shown(value)}; {_near(value, names)}")
    return value


def number(dataset: str, name: str, value: object, low: float, high: float = math.inf) -> float:
    """``value`` as a finite float in [low, high]; raises OptionError otherwise."""
    try:
        found = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found) or not low <= found <= high:
        raise OptionError(f"{dataset}: option {name} is {shown(value)}; expected {_span(low, high)}")
    return found


def whole(dataset: str, name: str, value: object, low: int) -> int:
    """``value`` as an int of at least ``low`` and less than 2^32; raises OptionError otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= _LARGEST:
        above = isinstance(value, int) and value > _LARGEST
        expected = f"at most {_LARGEST}" if above else f"a whole number >= {low}"
        raise OptionError(f"{dataset}: option {name} is {shown(value)}; expected {expected}")
    return value


def json_object(argument: str, text: str) -> dict[str, Any]:
    """The JSON object in ``text``; raises OptionError naming ``argument`` otherwise."""
    try:
        value = from_json(text)
    except ValueError as error:
        raise OptionError(f"{argument}: not JSON ({error}): {shown(text)}") from error
    if not isinstance(value, dict):
        raise OptionError(f"{argument}: expected a JSON object, not {shown(text)}")
    return value


def _span(low: float, high: float) -> str:
    if low == -math.inf and high == math.inf:
        return "a finite number"
    return f"a number >= {low}" if high == math.inf else f"a number from {low} to {high}"


def _near(value: object, valid: Iterable[str]) -> str:
    names = list(valid)
    near = difflib.get_close_matches(value[:200] if isinstance(value, str) else shown(value), names, n=1, cutoff=0.0)
    return f"nearest: {near[0]!r} (valid: {', '.join(names)})"
