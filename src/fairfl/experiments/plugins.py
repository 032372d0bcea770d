"""The plug-ins of a kind: the files of a folder of this package that have a `class Config`."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from fairfl.runtime.plain import shown
from fairfl.runtime.validation import nearest

PACKAGE = Path(__file__).resolve().parents[1]
_PLURAL = {"data": "data sets", "partition": "partitioners", "reporting/plots": "plots"}


@cache
def names(kind: str) -> tuple[str, ...]:
    """The plug-ins of a kind ("algorithms", "data", "models", "modifiers", "partition", "reporting/plots"), sorted."""
    files = (path for path in (PACKAGE / kind).glob("*.py") if not path.stem.startswith("_"))
    return tuple(sorted(path.stem for path in files if b"\nclass Config(" in path.read_bytes()))


def known(kind: str) -> Callable[[str], str]:
    """A validator: the name of a plug-in of the kind. Raises ValueError with the nearest one."""

    def check(name: str) -> str:
        if name not in names(kind):
            raise ValueError(f"{shown(name)} is not one of the {_PLURAL.get(kind, kind)}{nearest(name, names(kind))}")
        return name

    return check
