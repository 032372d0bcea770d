"""JSON more strictly than `json` reads it."""

import json
from typing import Any, TypeVar

from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import different
from fairfl.runtime.validation import checked

Type = TypeVar("Type")


def from_json(text: str | bytes, **hooks: Any) -> Any:
    """The value of a JSON text; `hooks` are json.loads's.

    Raises ValueError in words, also where json.loads is generous: NaN and Infinity, a key that is given twice.
    """
    try:
        return json.loads(text, parse_constant=_no_number, object_pairs_hook=_object, **hooks)
    except RecursionError:
        raise ValueError("nested too deep") from None


def from_text(text: str | bytes, kind: type[Type], where: str) -> Type:
    """The value of a JSON text, a model or another type. Raises FairflError with one line that begins with `where`."""
    try:
        value = from_json(text)
    except ValueError as error:
        raise FairflError(f"{where}: not valid JSON: {error}") from None
    return checked(value, kind, where)


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        different(key for key, _ in pairs)
    return mapping
