"""Reading YAML strictly: unknown keys, wrong types and impossible values stop the run with one clear line.

Every file that a user edits (config.yaml, papers/*.yaml, scales/*.yaml) is read through `load` and checked by
fairfl.runtime.validation.check.
"""

from pathlib import Path
from typing import Any

import yaml

from fairfl.runtime import sealed
from fairfl.runtime.plain_data import one_line, shown
from fairfl.runtime.validation import SpecError, nearest

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(_Loader):  # type: ignore[misc, valid-type]
    """YAML keeps the last of two equal keys silently; a paper with two `table4` must not load."""

    def flatten_mapping(self, node: Any) -> None:
        """Merge what a mapping names with `<<`, which also comes here. Raises at a key that it has twice."""
        keys: set[tuple[str, str]] = set()
        for key, _ in [] if hasattr(node, "is_flat") else node.value:
            name = key.tag, str(key.value)
            if name in keys and key.tag != "tag:yaml.org,2002:merge":
                what = f"key {shown(key.value)} is given twice"
                raise yaml.constructor.ConstructorError(None, None, what, key.start_mark)
            keys.add(name)
        node.is_flat = True
        super().flatten_mapping(node)


def _mapping(loader: Any, node: Any) -> dict:
    """Complete at once: a mapping that holds itself is refused."""
    return loader.construct_mapping(node, deep=True)


_StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)
# A day is written as text: no key wants a date.
_StrictLoader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_yaml_str)


def load(path: Path) -> Any:
    """Read one YAML file. Raises SpecError on a missing file, bad encoding, bad YAML, doubled keys."""
    text = _text(path)
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except Exception as error:  # a tag on a wrong value (`!!int x`) may raise nearly anything
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        what = getattr(error, "problem", None) or str(error) or type(error).__name__
        raise SpecError(f"{path}{line}: not valid YAML: {one_line(what)}") from None


def _text(path: Path) -> str:
    if path.suffix == ".yml":
        raise SpecError(f"{path}: is not read: call it {path.stem}.yaml")
    try:
        return sealed.read_bytes(path).decode()
    except FileNotFoundError:
        siblings = sorted(each.name for each in path.parent.glob("*.yaml"))
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
