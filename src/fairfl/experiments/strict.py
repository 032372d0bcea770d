"""Reading YAML strictly: unknown keys, wrong types and impossible values stop the run with one clear line.

Every file that a user edits (config.yaml, papers/*.yaml, scales/*.yaml) is read through `load` and checked by `check`.
"""

import difflib
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from fairfl.experiments import plain
from fairfl.experiments.plain import one_line, shown, spoken
from fairfl.runtime.errors import FairflError

Spec = TypeVar("Spec", bound=BaseModel)
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_BYTES = 16 * 2**20


class SpecError(FairflError):
    """A configuration that cannot be run. The message names file, key, value and a way out."""


class _UniqueKeyLoader(_Loader):  # type: ignore[misc, valid-type]
    """YAML keeps the last of two equal keys silently; a paper with two `table4` must not load."""

    def get_single_node(self) -> Any:
        """The parsed document. Raises plain.Fault before merge keys and aliases multiply it."""
        node = super().get_single_node()
        _expanded(node, 0, {})
        return node


def _expanded(node: Any, depth: int, known: dict[int, int]) -> int:
    """Number of nodes, aliases counted each time."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if depth > plain.DEEPEST:
        raise plain.Fault((), f"nested more than {plain.DEEPEST} deep, or in a circle")
    if id(node) not in known:
        pairs = isinstance(node, yaml.MappingNode)
        parts = [part for pair in node.value for part in pair] if pairs else node.value
        known[id(node)] = 1 + sum(_expanded(part, depth + 1, known) for part in parts)
        if known[id(node)] > plain.MOST:
            raise plain.Fault((), f"more than {plain.MOST} values, aliases (*name) counted each time")
    return known[id(node)]


def _mapping(loader: Any, node: Any) -> dict:
    loader.flatten_mapping(node)
    seen: dict = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool):
            raise yaml.constructor.ConstructorError(
                None, None, f"key {shown(key)} is not a plain value", key_node.start_mark
            )
        if key in seen and key_node.value != "<<":
            raise yaml.constructor.ConstructorError(None, None, f"key {shown(key)} stands twice", key_node.start_mark)
        seen[key] = loader.construct_object(value_node, deep=True)
    return seen


_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:map", _mapping)
# A day is written as text: no key wants a date.
_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_yaml_str)


def nearest(word: Any, known: Any) -> str:
    """Return ", did you mean 'x'?" for the closest known word, or the list of known words."""
    names = [str(k) for k in known]
    match = difflib.get_close_matches(word[:200] if isinstance(word, str) else shown(word), names, n=1, cutoff=0.6)
    if match:
        return f"; did you mean {match[0]!r}?"
    return f"; known: {', '.join(names[:20])}" + (", ..." if len(names) > 20 else "")


def load(path: Path) -> Any:
    """Read one YAML file. Raises SpecError on a missing file, bad encoding, bad YAML, doubled keys."""
    text = _text(path)
    try:
        _check_depth(text)
        return yaml.load(text, Loader=_UniqueKeyLoader)
    except plain.Fault as fault:
        raise SpecError(f"{path}: not valid YAML: {fault}") from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise SpecError(f"{path}{line}: not valid YAML: {one_line(what)}") from None
    except Exception as error:  # a tag on a wrong value (`!!int x`) may raise nearly anything
        raise SpecError(f"{path}: not valid YAML: {one_line(str(error)) or type(error).__name__}") from None


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise SpecError(f"{path}: not a file")
        if path.stat().st_size > _MOST_BYTES:
            raise SpecError(f"{path}: larger than {_MOST_BYTES} bytes")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        siblings = sorted(p.name for p in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        raise SpecError(f"{path}: no such file{nearest(path.name, siblings)}") from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None


def _check_depth(text: str) -> None:
    """Raises Fault on what the parser, which recurses in C, would crash on."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > plain.DEEPEST:
            raise plain.Fault((), f"nested more than {plain.DEEPEST} deep")


def _fields_at(model: Any, location: tuple) -> list[str]:
    """Names of the keys that are valid where an unknown key was found."""
    for part in location:
        if isinstance(part, int) or not (isinstance(model, type) and issubclass(model, BaseModel)):
            continue
        for name, field in model.model_fields.items():
            if part in (name, field.alias):
                model = _inner_model(field.annotation)
                break
    if isinstance(model, type) and issubclass(model, BaseModel):
        return [field.alias or name for name, field in model.model_fields.items()]
    return []


def _inner_model(annotation: Any) -> Any:
    """The spec class inside list[X], dict[str, X], X | None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in get_args(annotation):
        found = _inner_model(part)
        if found is not None:
            return found
    return None


def explain(error: ValidationError, model: type[BaseModel], file: str, prefix: str = "") -> SpecError:
    """Turn pydantic's report into lines `file: key: value: what is wrong; nearest valid name`."""
    lines = []
    for problem in error.errors():
        location = tuple(problem["loc"])
        key = spoken((prefix, *location))
        value = problem.get("input")
        if problem["type"] == "extra_forbidden":
            hint = nearest(location[-1], _fields_at(model, location[:-1]))
            lines.append(f"{file}: {key}: unknown key (value {shown(value)}){hint}")
        elif problem["type"] == "literal_error":
            choices = [c.strip().strip("'") for c in problem["ctx"]["expected"].replace(" or ", ", ").split(",")]
            lines.append(f"{file}: {key}: {shown(value)} is not valid{nearest(value, choices)}")
        elif problem["type"] == "missing":
            lines.append(f"{file}: {key}: missing; it has no default")
        else:
            own = problem["type"] == "value_error"  # a validator of ours shows the value where it helps
            message = problem["msg"].removeprefix("Value error, ")
            message = message if own else f"{shown(value)}: {message[:1].lower()}{message[1:]}"
            lines.append(f"{file}: {key or '(whole file)'}: {message}{_as_number(problem['type'], value)}")
    return SpecError("\n".join(map(one_line, lines)))


def _as_number(kind: str, value: Any) -> str:
    if kind != "float_type" or not isinstance(value, str):
        return ""
    try:
        float(value)
    except ValueError:
        return ""
    return "; YAML takes a number with an exponent for text unless it has a point: 1.0e-3"


def check(data: Any, model: type[Spec], file: str, prefix: str = "") -> Spec:
    """Validate plain data against a spec. Raises SpecError with one line per problem."""
    if not isinstance(data, dict):
        where = f"{prefix}: " if prefix else ""
        raise SpecError(f"{file}: {where}expected `key: value` lines, found {shown(data)}")
    try:
        plain.size(data)
    except plain.Fault as fault:
        key = f"{prefix}.{fault.key}".strip(".")
        raise SpecError(f"{file}: {key}: {fault}" if key else f"{file}: {fault}") from None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise explain(error, model, file, prefix) from None


def merged(base: dict, patch: dict) -> dict:
    """`patch` laid over `base`, dictionaries key by key, everything else replaced."""
    result = dict(base)
    for key, value in patch.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
