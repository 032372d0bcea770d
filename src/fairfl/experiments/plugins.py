"""The plug-ins of a kind: the files of a folder of this package that have a `class Config`."""

import importlib
import os
import re
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from fairfl.runtime import opened
from fairfl.runtime.errors import FairflError, PluginError
from fairfl.runtime.hooks import place
from fairfl.runtime.plain_data import one_line, shown
from fairfl.runtime.validation import nearest

Type = TypeVar("Type")
PACKAGE = Path(__file__).absolute().parents[1]
_PLURAL = {"data": "data sets", "partition": "partitioners", "reporting/plots": "plots"}


@cache
@opened.by_fairfl()
def names(kind: str) -> tuple[str, ...]:
    """The plug-ins of a kind ("algorithms", "data", "models", "modifiers", "partition", "reporting/plots"), sorted."""
    return tuple(
        sorted(path.stem for path in (PACKAGE / kind).glob("*.py") if not unfit(kind, path.stem))
    )


def unfit(kind: str, name: str) -> str:
    """Reason why a file of this name is not a plug-in of the kind, "" if it is one. Editors leave much in a folder."""
    path = PACKAGE / kind / f"{name}.py"
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        return "is called otherwise than by small letters, digits and _"
    if not path.is_file():
        return "is a link to nothing" if path.is_symlink() else "is not a file"
    if (PACKAGE / kind / name / "__init__.py").exists():
        return f"folder {name}/ has its name"
    try:
        text = path.read_bytes()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "" if b"\nclass Config(" in text else "no `class Config(Strict)` of its parameters"


def known(kind: str) -> Callable[[str], str]:
    """A validator: the name of a plug-in of the kind. Raises ValueError with the nearest one."""

    def check(name: str) -> str:
        if name not in names(kind):
            raise ValueError(
                f"{shown(name)} is not one of the {_PLURAL.get(kind, kind)}{_hint(kind, name)}"
            )
        return name

    return check


def _hint(kind: str, name: str) -> str:
    """The nearest name, and what is wrong with its file if there is one."""
    file = PACKAGE / kind / f"{name}.py"
    if os.path.basename(name) == name and os.path.lexists(file):
        return f"{nearest(name, names(kind))} ({file.relative_to(PACKAGE.parents[1])}: {unfit(kind, name)})"
    return nearest(name, names(kind))


def module(kind: str, name: str) -> ModuleType:
    """A plug-in, imported. Raises PluginError with file and line if that fails."""
    try:
        return importlib.import_module(f"fairfl.{kind}.{name}".replace("/", "."))
    except FairflError:
        raise
    except Exception as error:  # a plug-in is a program that somebody writes
        frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        own = [
            (code, line)
            for code, line in frames
            if Path(code.co_filename).is_relative_to(PACKAGE / kind)
        ]
        if isinstance(error, SyntaxError):
            where, what = f"{error.filename}, line {error.lineno}", error.msg
        else:
            where, what = place(*own[-1]) if own else f"{kind}/{name}.py", str(error)
        raise PluginError(f"{where}: {type(error).__name__}: {one_line(what)}") from error


def plugin_class(kind: str, name: str, base: type[Type]) -> type[Type]:
    """The class in a plug-in's file that extends `base`."""
    plugin = module(kind, name)
    classes = (
        value
        for value in vars(plugin).values()
        if isinstance(value, type) and issubclass(value, base)
    )
    return next(value for value in classes if value.__module__ == plugin.__name__)
