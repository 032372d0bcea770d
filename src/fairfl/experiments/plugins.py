"""The plug-ins of a kind: the files of a folder of this package that have a `class Config`."""

import importlib
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from fairfl.runtime.errors import FairflError, PluginError
from fairfl.runtime.hooks import place
from fairfl.runtime.plain import one_line, shown
from fairfl.runtime.validation import nearest

Type = TypeVar("Type")
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


def module(kind: str, name: str) -> ModuleType:
    """A plug-in, imported. Raises PluginError with file and line if that fails."""
    try:
        return importlib.import_module(f"fairfl.{kind}.{name}".replace("/", "."))
    except FairflError:
        raise
    except Exception as error:  # a plug-in is a program that somebody writes
        frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        own = [(code, line) for code, line in frames if Path(code.co_filename).is_relative_to(PACKAGE / kind)]
        if isinstance(error, SyntaxError):
            where, what = f"{error.filename}, line {error.lineno}", error.msg
        else:
            where, what = place(*own[-1]) if own else f"{kind}/{name}.py", str(error)
        raise PluginError(f"{where}: {type(error).__name__}: {one_line(what)}") from error


def plugin_class(kind: str, name: str, base: type[Type]) -> type[Type]:
    """The class in a plug-in's file that extends `base`."""
    found = module(kind, name)
    classes = (value for value in vars(found).values() if isinstance(value, type) and issubclass(value, base))
    return next(value for value in classes if value.__module__ == found.__name__)
