"""Reading YAML strictly: unknown keys, wrong types and impossible values stop the run with one clear line.

Every file that a user edits (config.yaml, papers/*.yaml, scales/*.yaml) is read through `load` and checked by
fairfl.runtime.validation.check.
"""

import sys
from pathlib import Path
from typing import Any

import yaml

from fairfl.runtime import plain, sealed
from fairfl.runtime.plain import one_line, shown
from fairfl.runtime.validation import SpecError, nearest

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_BYTES = 16 * 2**20


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
            raise yaml.constructor.ConstructorError(None, None, f"key {shown(key)} is given twice", key_node.start_mark)
        seen[key] = loader.construct_object(value_node, deep=True)
    return seen


_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:map", _mapping)


def _whole_number(loader: Any, node: yaml.ScalarNode) -> Any:
    try:
        return loader.construct_yaml_int(node)
    except ValueError:
        if len(node.value) <= sys.int_info.default_max_str_digits:
            raise
        what = f"{shown(node.value)}: a whole number of {len(node.value)} digits"
        raise yaml.constructor.ConstructorError(None, None, what, node.start_mark) from None


_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:int", _whole_number)
# A day is written as text: no key wants a date.
_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_yaml_str)


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
        return sealed.read_bytes(path).decode("utf-8")
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


def yaml_files(folder: Path) -> dict[str, Path]:
    """The YAML files of a folder by name, without hidden ones: editors and macOS leave `.#x.yaml` and `._x.yaml`.

    Raises SpecError for one that is called .yml, which nobody would read.
    """
    seen = [path for path in sorted(folder.glob("*.y*ml")) if not path.name.startswith(".")]
    if other := next((path for path in seen if path.suffix == ".yml"), None):
        raise SpecError(f"{other}: is not read: call it {other.stem}.yaml")
    return {path.stem: path for path in seen if path.suffix == ".yaml"}


def merged(base: dict, patch: dict) -> dict:
    """`patch` laid over `base`, dictionaries key by key, everything else replaced."""
    result = dict(base)
    for key, value in patch.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
