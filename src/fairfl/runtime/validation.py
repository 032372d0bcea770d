"""Checking plain data from outside against a pydantic model: what is wrong is one line `where: key: value: reason`."""

import difflib
import math
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import few, format_place, leaves, one_line, shown

Model = TypeVar("Model", bound=BaseModel)
Type = TypeVar("Type")


class SpecError(FairflError, ValueError):
    """A configuration that cannot be run. The message names file, key, value and a way out.

    In a validator pydantic adds file and key.
    """


def nearest(word: Any, choices: Any) -> str:
    """Return ", did you mean 'x'?" for the closest known word, or the list of known words."""
    names = [str(choice) for choice in choices]
    if not names:
        return "; there are none"
    match = difflib.get_close_matches(
        word[:200] if isinstance(word, str) else shown(word), names, n=1, cutoff=0.6
    )
    if match:
        return f"; did you mean {match[0]!r}?"
    return f"; known: {few(names, 20)}"


def _fields_at(model: Any, location: tuple) -> list[str]:
    """Names of the keys that are valid where an unknown key was found."""
    for part in location:
        for name, field in getattr(model, "model_fields", {}).items():
            if part in (name, field.alias):
                model = _inner_model(field.annotation)
                break
    return [field.alias or name for name, field in getattr(model, "model_fields", {}).items()]


def _inner_model(annotation: Any) -> Any:
    """The spec class inside list[X], dict[str, X], X | None."""
    if hasattr(annotation, "model_fields"):
        return annotation
    return next(filter(None, map(_inner_model, get_args(annotation))), None)


_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "byte_size": "a size, 0 or more, such as 0, 500MB or 2GB",
    "byte_size_unit": "a size, 0 or more, such as 0, 500MB or 2GB",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "greater_than": "more than {gt:.15g}",
    "greater_than_equal": "{ge:.15g} or more",
    "less_than": "less than {lt:.15g}",
    "less_than_equal": "{le:.15g} or less",
    "too_short": "{min_length} or more values",
    "too_long": "{max_length} or fewer values",
}


def problems(error: ValidationError, model: Any, where: str, prefix: str = "") -> list[str]:
    """Lines `where: key: value: what is wrong; nearest valid name` of pydantic's report."""
    lines = []
    for problem in error.errors():
        location = tuple(problem["loc"])
        value, kind = problem.get("input"), problem["type"]
        if kind == "extra_forbidden":
            hint = nearest(location[-1], _fields_at(model, location[:-1]))
            reason = f"unknown key (value {shown(value)}){hint}"
        elif kind == "literal_error":
            choices = [
                c.strip().strip("'")
                for c in problem["ctx"]["expected"].replace(" or ", ", ").split(",")
            ]
            reason = f"{shown(value)} is not valid{nearest(value, choices)}"
        elif kind == "missing":
            reason = "missing; it has no default"
        elif kind == "value_error":  # a validator of ours shows the value where it helps
            reason = problem["msg"].removeprefix("Value error, ")
        elif kind in _EXPECTED:
            expected = _EXPECTED[kind].format(**problem.get("ctx", {}))
            reason = f"{shown(value)}: expected {expected}{_as_written(kind, value)}"
        else:
            reason = f"{shown(value)}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"
        place = ".".join(filter(None, (prefix, format_place(location))))
        lines.append(one_line(": ".join(filter(None, (where, place, reason)))))
    return lines


def _as_written(kind: str, value: Any) -> str:
    """Explain what YAML made of a word that was meant as something else."""
    if kind == "string_type" and isinstance(value, bool):
        return "; YAML takes NO, off, on, yes, ... for true or false unless they are in quotes"
    if kind == "string_type" and isinstance(value, int | float):
        return "; put a text that is a number in quotes"
    if kind == "float_type" and str(value)[:1].isdigit():
        return "; YAML takes a number with an exponent for text unless it has a point: 1.0e-3"
    return ""


def check(data: Any, model: type[Model], file: str, prefix: str = "") -> Model:
    """Validate what stands in a YAML file against a model. Raises SpecError with one line per problem."""
    if not isinstance(data, dict):
        where = f"{prefix}: " if prefix else ""
        raise SpecError(f"{file}: {where}expected `key: value` lines, found {shown(data)}")
    for at, value in leaves(data):
        if isinstance(value, float) and not math.isfinite(value):
            key = f"{prefix}.{format_place(at)}".strip(".")
            raise SpecError(f"{file}: {key}: {value}: not a finite number")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise SpecError("\n".join(problems(error, model, file, prefix))) from None


def checked(value: Any, kind: type[Type], where: str, prefix: str = "") -> Type:
    """The value at key `prefix` as a model or another type. Raises FairflError with one line, the first problem."""
    try:
        return TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        raise FairflError(problems(error, kind, where, prefix)[0]) from None
