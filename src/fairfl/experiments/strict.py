"""Reading YAML strictly: unknown keys, wrong types and impossible values stop the run with one clear line.

Every file that a user edits (config.yaml, papers/*.yaml, scales/*.yaml) is read through `load` and checked by
fairfl.runtime.validation.check.
"""

import math
import re
import sys
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from fairfl.runtime import plain_data, sealed
from fairfl.runtime.plain_data import one_line, shown
from fairfl.runtime.validation import SpecError, nearest

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_BYTES = 16 * 2**20


class _StrictLoader(_Loader):  # type: ignore[misc, valid-type]
    """YAML keeps the last of two equal keys silently; a paper with two `table4` must not load."""

    def get_single_node(self) -> Any:
        """The parsed document. Raises plain_data.Fault before merge keys and aliases multiply it."""
        node = super().get_single_node()
        _expanded(node, 0, {})
        self._check(node, (), set())
        return node

    def _check(self, node: Any, at: tuple, seen: set[int]) -> None:
        """Raises for a key that a mapping has twice, and plain_data.Fault for a number that others read otherwise."""
        if isinstance(node, yaml.ScalarNode):
            if node.tag.endswith((":int", ":float")) and (what := ambiguous(node.value)):
                raise plain_data.Fault(at, what)
        elif node is not None and id(node) not in seen:
            seen.add(id(node))
            pairs = self._pairs(node) if isinstance(node, yaml.MappingNode) else enumerate(node.value)
            for key, value in pairs:
                self._check(value, (*at, key), seen)

    def _pairs(self, node: yaml.MappingNode) -> Iterator[tuple[Any, Any]]:
        """Keys, each once beside merged ones (`<<`), and what they stand for; first each key, as its own value."""
        keys = set()
        for key_node, value_node in node.value:
            key = key_node.value
            if key_node.tag != _MERGE:
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, str | int | float | bool):
                    raise _fault(f"key {shown(key)} is not a plain value", key_node)
                if key in keys:
                    raise _fault(f"key {shown(key)} is given twice", key_node)
                keys.add(key)
                yield key_node.value, key_node
            yield key, value_node


def _fault(what: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, what, node.start_mark)


_MERGE = "tag:yaml.org,2002:merge"
_NUMBER = re.compile(r"[-+]?\d[\d_]*(\.[\d_]*)?(e[-+]?\d+)?", re.I)
_SIXTIES = re.compile(r"[-+]?\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?")


def ambiguous(text: str) -> str:
    """Both readings of a number that YAML 1.1 takes for another one than people or a command line do; "" if all read
    it alike.
    """
    if _SIXTIES.fullmatch(text):
        parts = reversed(text.strip("+-").replace("_", "").split(":"))
        value = math.fsum(float(part) * 60**place for place, part in enumerate(parts)) * (-1) ** text.startswith("-")
        return f"{text}: YAML reads {value:.15g} (base 60), others a text: write {value:.15g}, or '{text}'"
    if not _NUMBER.fullmatch(text):
        return ""
    if "_" in text or not text.isascii():
        return f"{text}: YAML or Python reads {text.replace('_', '')}, others a text: write digits alone, or '{text}'"
    if re.fullmatch(r"[-+]?0\d{1,99}", text):
        octal = int(text, 8) if re.fullmatch(r"[-+]?[0-7]+", text) else "a text"
        return f"{text}: YAML reads {octal} (base 8), others {int(text)}: write a number without leading zeros"
    return ""


def check_words(words: Iterable[str], texts: Container[str]) -> None:
    """Raises SpecError for a KEY=VALUE of a command line that has such a number; `texts` are keys of names."""
    for word in words:
        key, _, value = word.partition("=")
        for part in re.split(r"[\s,{}\[\]]+|:\s+", value) if key not in texts else ():
            if what := ambiguous(part.strip("'\"")):
                raise SpecError(f"--config {key}: {what}")


def _expanded(node: Any, depth: int, known: dict[int, int]) -> int:
    """Number of nodes, aliases counted each time."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if depth > plain_data.DEEPEST:
        raise plain_data.Fault((), f"nested more than {plain_data.DEEPEST} deep, or in a circle")
    if id(node) not in known:
        pairs = isinstance(node, yaml.MappingNode)
        parts = [part for pair in node.value for part in pair] if pairs else node.value
        known[id(node)] = 1 + sum(_expanded(part, depth + 1, known) for part in parts)
        if known[id(node)] > plain_data.MOST:
            raise plain_data.Fault((), f"more than {plain_data.MOST} values, aliases (*name) counted each time")
    return known[id(node)]


def _mapping(loader: Any, node: Any) -> dict:
    """A mapping's own keys count before merged ones, of several merged mappings the first."""
    loader.flatten_mapping(node)
    pairs = ((loader.construct_object(key, deep=True), value) for key, value in node.value)
    return {key: loader.construct_object(value, deep=True) for key, value in pairs}


_StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)


def _whole_number(loader: Any, node: yaml.ScalarNode) -> Any:
    try:
        return loader.construct_yaml_int(node)
    except ValueError:
        if len(node.value) <= sys.int_info.default_max_str_digits:
            raise
        raise _fault(f"{shown(node.value)}: a whole number of {len(node.value)} digits", node) from None


_StrictLoader.add_constructor("tag:yaml.org,2002:int", _whole_number)
# A day is written as text: no key wants a date.
_StrictLoader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_yaml_str)


def load(path: Path) -> Any:
    """Read one YAML file. Raises SpecError on a missing file, bad encoding, bad YAML, doubled keys."""
    text = _text(path)
    try:
        _check_depth(text)
        return yaml.load(text, Loader=_StrictLoader)
    except plain_data.Fault as fault:
        raise SpecError(f"{path}: {fault.key or 'not valid YAML'}: {fault}") from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise SpecError(f"{path}{line}: not valid YAML: {one_line(what)}") from None
    except Exception as error:  # a tag on a wrong value (`!!int x`) may raise nearly anything
        raise SpecError(f"{path}: not valid YAML: {one_line(str(error)) or type(error).__name__}") from None


def _text(path: Path) -> str:
    if path.suffix == ".yml":
        raise SpecError(f"{path}: is not read: call it {path.stem}.yaml")
    try:
        if path.exists() and not path.is_file():
            raise SpecError(f"{path}: not a file")
        if path.stat().st_size > _MOST_BYTES:
            raise SpecError(f"{path}: larger than {_MOST_BYTES} bytes")
        return sealed.read_bytes(path).decode("utf-8")
    except FileNotFoundError:
        if path.is_symlink():
            raise SpecError(f"{path}: a link to nothing") from None
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
        if depth > plain_data.DEEPEST:
            raise plain_data.Fault((), f"nested more than {plain_data.DEEPEST} deep")


def yaml_files(folder: Path) -> dict[str, Path]:
    """The YAML files of a folder by name, without hidden ones: editors and macOS leave `.#x.yaml` and `._x.yaml`.

    One that is called .yml is among them, so that who names it hears that it is not read.
    """
    seen = [path for path in sorted(folder.glob("*.y*ml")) if not path.name.startswith(".")]
    return {path.stem: path for ending in (".yml", ".yaml") for path in seen if path.suffix == ending}


def csv_files(folder: Path) -> dict[str, str]:
    """Paths of the CSV files of a folder by name, without hidden ones and links to nothing."""
    seen = (path for path in sorted(folder.glob("*.csv")) if not path.name.startswith("."))
    return {path.stem: str(path) for path in seen if path.is_file()}


def merged(base: dict, patch: dict) -> dict:
    """`patch` laid over `base`, dictionaries key by key, everything else replaced."""
    result = dict(base)
    for key, value in patch.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
