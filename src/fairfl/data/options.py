"""Options of a data set: defaults, and errors that name what was wrong and what is near."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable
from typing import Any

from fairfl.errors import OptionError


def merge(dataset: str, options: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """``defaults`` overlaid with ``options``.

    Raises:
        OptionError: an option that ``defaults`` does not have.
    """
    for name in options:
        if name not in defaults:
            if not defaults:
                raise OptionError(f"{dataset}: unknown option {name!r}; it has no options")
            raise OptionError(f"{dataset}: unknown option {name!r}; {_near(name, defaults)}")
    return {**defaults, **options}


def choice(dataset: str, name: str, value: object, valid: Iterable[str]) -> str:
    """``value`` if it is one of ``valid``; raises OptionError otherwise."""
    names = list(valid)
    if not isinstance(value, str) or value not in names:
        raise OptionError(f"{dataset}: option {name} is {value!r}; {_near(value, names)}")
    return value


def number(dataset: str, name: str, value: object, low: float, high: float = math.inf) -> float:
    """``value`` as a finite float in [low, high]; raises OptionError otherwise."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not math.isfinite(value) or not low <= value <= high:  # type: ignore
        raise OptionError(f"{dataset}: option {name} is {value!r}; expected {_span(low, high)}")
    return float(value)  # type: ignore[arg-type]


def whole(dataset: str, name: str, value: object, low: int) -> int:
    """``value`` as an int of at least ``low``; raises OptionError otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise OptionError(f"{dataset}: option {name} is {value!r}; expected a whole number >= {low}")
    return value


def json_object(argument: str, text: str) -> dict[str, Any]:
    """The JSON object in ``text``; raises OptionError naming ``argument`` otherwise."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise OptionError(f"{argument}: not JSON ({error}): {text!r}") from error
    if not isinstance(value, dict):
        raise OptionError(f"{argument}: expected a JSON object, not {text!r}")
    return value


def _span(low: float, high: float) -> str:
    if low == -math.inf and high == math.inf:
        return "a finite number"
    return f"a number >= {low}" if high == math.inf else f"a number from {low} to {high}"


def _near(value: object, valid: Iterable[str]) -> str:
    names = list(valid)
    near = difflib.get_close_matches(str(value), names, n=1, cutoff=0.0)
    return f"nearest: {near[0]!r} (valid: {', '.join(names)})"
