"""Reading YAML strictly: unknown keys, wrong types and impossible values stop the run with one clear line.

Every file that a user edits (config.yaml, papers/*.yaml, scales/*.yaml) is read through `load` and checked by
fairfl.runtime.validation.check.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from fairfl.runtime import sealed
from fairfl.runtime.plain_data import one_line, shown
from fairfl.runtime.validation import SpecError, nearest

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_BYTES = 16 * 2**20


class _StrictLoader(_Loader):  # type: ignore[misc, valid-type]
    """YAML keeps the last of two equal keys silently; a paper with two `table4` must not load."""

    def flatten_mapping(self, node: Any) -> None:
        """Merge what a mapping names with `<<`, which also comes here. Raises at a key that it has twice."""
        keys: set[tuple[str, str]] = set()
        for key, _ in [] if hasattr(node, "is_flat") else node.value:
            name = key.tag, str(key.value)
            if name in keys and key.tag != "tag:yaml.org,2002:merge":
                raise _fault(f"key {shown(key.value)} is given twice", key)
            keys.add(name)
        node.is_flat = True
        super().flatten_mapping(node)


def _fault(what: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, what, node.start_mark)


_LEADING_ZERO = re.compile(r"[-+]?0\d+")
_IN_PARTS = re.compile(
    r"[-+]?\d+([_:][\d_]+)+(\.[\d_]*)?"
)  # 1_000 and 1:30, which is a number to base 60


def ambiguous(text: str) -> str:
    """What is wrong with a number that YAML 1.1 takes for another one than people do; "" of others."""
    if not (_LEADING_ZERO.fullmatch(text) or _IN_PARTS.fullmatch(text)):
        return ""
    value = yaml.safe_load(text)
    return f"{text}: YAML reads {value}, others do not. Expected digits. Try {value}, or '{text}' for a text"


def _mapping(loader: Any, node: Any) -> dict:
    """A mapping's own keys count before merged ones, of several merged mappings the first."""
    loader.flatten_mapping(node)
    pairs = ((loader.construct_object(key, deep=True), value) for key, value in node.value)
    return {key: loader.construct_object(value, deep=True) for key, value in pairs}


def _number(loader: Any, node: Any) -> Any:
    """Raises at one that others read otherwise."""
    if what := ambiguous(node.value):
        raise _fault(what, node)
    return _Loader.yaml_constructors[node.tag](loader, node)


_StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)
_StrictLoader.add_constructor("tag:yaml.org,2002:int", _number)
_StrictLoader.add_constructor("tag:yaml.org,2002:float", _number)
# A day is written as text: no key wants a date.
_StrictLoader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_yaml_str)


def load(path: Path) -> Any:
    """Read one YAML file. Raises SpecError on a missing file, bad encoding, bad YAML, doubled keys."""
    text = _text(path)
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise SpecError(f"{path}{line}: not valid YAML: {one_line(what)}") from None
    except Exception as error:  # a tag on a wrong value (`!!int x`) may raise nearly anything
        raise SpecError(
            f"{path}: not valid YAML: {one_line(str(error)) or type(error).__name__}"
        ) from None


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
        siblings = (
            sorted(p.name for p in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        )
        raise SpecError(f"{path}: no such file{nearest(path.name, siblings)}") from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None


def yaml_files(folder: Path) -> dict[str, Path]:
    """The YAML files of a folder by name, without hidden ones: editors and macOS leave `.#x.yaml` and `._x.yaml`.

    One that is called .yml is among them, so that who names it hears that it is not read.
    """
    seen = [path for path in sorted(folder.glob("*.y*ml")) if not path.name.startswith(".")]
    return {
        path.stem: path for ending in (".yml", ".yaml") for path in seen if path.suffix == ending
    }


def csv_files(folder: Path) -> dict[str, str]:
    """Paths of the CSV files of a folder by name, without hidden ones and links to nothing."""
    seen = (path for path in sorted(folder.glob("*.csv")) if not path.name.startswith("."))
    return {path.stem: str(path) for path in seen if path.is_file()}


def merged(base: dict, patch: dict) -> dict:
    """`patch` laid over `base`, dictionaries key by key, everything else replaced."""
    result = dict(base)
    for key, value in patch.items():
        old = result.get(key)
        result[key] = (
            merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return result
