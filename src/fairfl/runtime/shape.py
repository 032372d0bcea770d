"""What data from a file or a command line have to look like, and one line that says where they do not.

A shape is a type (float takes whole numbers too, int takes no booleans), None, a range of whole numbers, a set of
words, a tuple of shapes of which one must fit, `[shape]` for a list, or a dict of shapes by key. A dict may hold more
keys than its shape has; "*" stands for each of those.
"""

import math
from pathlib import Path
from typing import Any

from fairfl.runtime.errors import FairflError
from fairfl.runtime.json_text import from_json
from fairfl.runtime.plain import shown, spoken

PACKAGE = Path(__file__).resolve().parents[1]

COUNT = range(1, 2**63)
SEED = range(2**32)

_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
}


def modules(package: str) -> frozenset[str]:
    """Names of the plug-ins in a folder of this package: files with a Config."""
    found = (path for path in (PACKAGE / package).glob("*.py") if not path.stem.startswith("_"))
    return frozenset(path.stem for path in found if b"\nclass Config(" in path.read_bytes())


def parsed(text: str | bytes, shape: Any, where: str) -> Any:
    """The value of a JSON text, if it has the shape. Raises FairflError that begins with `where`."""
    try:
        value = from_json(text)
    except ValueError as error:
        raise FairflError(f"{where}: not valid JSON: {error}") from None
    return checked(value, shape, where)


def checked(value: Any, shape: Any, where: str) -> Any:
    """The value, if it has the shape. Raises FairflError: where it has not, what stands there, what is expected."""
    if fault := _fault(value, shape, ()):
        at, what = fault
        raise FairflError(": ".join(filter(None, (where, spoken(at), what))))
    return value


def _fault(value: Any, shape: Any, at: tuple) -> tuple[tuple, str] | None:
    if isinstance(shape, tuple):
        faults = [fault for alternative in shape if (fault := _fault(value, alternative, at))]
        # A value of the right kind says best what is wrong inside.
        return None if len(faults) < len(shape) else max(faults, key=lambda fault: len(fault[0]))
    if isinstance(shape, dict) and isinstance(value, dict):
        return _in_mapping(value, shape, at)
    if isinstance(shape, list) and isinstance(value, list):
        return next(filter(None, (_fault(part, shape[0], (*at, n)) for n, part in enumerate(value))), None)
    return None if _fits(value, shape) else (at, f"{shown(value)}: expected {_said(shape)}")


def _in_mapping(value: dict, shape: dict[str, Any], at: tuple) -> tuple[tuple, str] | None:
    missing = [key for key in shape if key != "*" and key not in value]
    if missing:
        return at, f"has no {missing[0]!r}"
    expected = ((key, shape.get(key, shape.get("*"))) for key in value if key in shape or "*" in shape)
    return next(filter(None, (_fault(value[key], own, (*at, key)) for key, own in expected)), None)


def _fits(value: Any, shape: Any) -> bool:
    if shape is None:
        return value is None
    if isinstance(shape, set | frozenset):
        return isinstance(value, str) and value in shape
    if isinstance(shape, range):
        return type(value) is int and value in shape
    if shape is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)
    return type(value) is shape if isinstance(shape, type) else False


def _finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _said(shape: Any) -> str:
    if shape is None:
        return "null"
    if isinstance(shape, set | frozenset):
        return f"one of {', '.join(sorted(shape))}"
    if isinstance(shape, range):
        return f"a whole number from {shape.start}" + (f" to {shape.stop - 1}" if shape.stop <= 2**32 else "")
    return _WORDS[shape if isinstance(shape, type) else type(shape)]
