"""What a plug-in file declares, read without running it.

Algorithms, models and partitioners are one file each, and each file declares its parameters as a
pydantic `class Config` (and constants such as NEEDS). The Snakefile has to validate them on every
parse, but running the file would import torch, which takes two seconds. So only the declaration is
executed: the imports that it needs, upper-case constants and the class `Config`.
"""

import ast
from functools import cache
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from fairfl.runtime.plain import shown
from fairfl.runtime.shape import PACKAGE, modules
from fairfl.runtime.validation import SpecError, check, nearest

_CHEAP = {"typing", "pydantic", "fairfl.experiments.base", "math", "collections.abc"}


@cache
def names(kind: str) -> tuple[str, ...]:
    """The plug-ins of a kind ("algorithms", "models", "partition", "data"): files with a Config."""
    return tuple(sorted(modules(kind)))


@cache
def declaration(kind: str, name: str) -> SimpleNamespace:
    """Return the `Config` class and the upper-case constants of src/fairfl/<kind>/<name>.py.

    Raises SpecError naming the nearest plug-in if there is no such file, and the file if it cannot be read.
    """
    known = names(kind)
    if name not in known:
        raise SpecError(f"{shown(name)} is not one of the {kind}{nearest(name, known)}")
    path = PACKAGE / kind / f"{name}.py"
    namespace: dict[str, Any] = {"__name__": f"fairfl.{kind}.{name}", "__file__": str(path)}
    try:
        tree = ast.parse(path.read_bytes(), str(path))
        kept = [node for node in tree.body if _is_declaration(node)]
        exec(compile(ast.Module(body=kept, type_ignores=[]), str(path), "exec"), namespace)
    except Exception as error:  # a plug-in is a program that somebody writes
        raise SpecError(f"{path}: its declaration fails: {type(error).__name__}: {error}") from error
    return SimpleNamespace(**{k: v for k, v in namespace.items() if not k.startswith("__")})


def _is_declaration(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module in _CHEAP
    if isinstance(node, ast.Import):
        return all(alias.name in _CHEAP for alias in node.names)
    if isinstance(node, ast.ClassDef):
        return node.name == "Config"
    if isinstance(node, ast.Assign):
        return all(isinstance(t, ast.Name) and t.id.isupper() for t in node.targets)
    return False


def parameters(kind: str, name: str, given: dict[str, Any], file: str, prefix: str) -> dict[str, Any]:
    """All parameters of a plug-in, defaults filled in, under the names that YAML uses.

    Raises SpecError with file, key, value and nearest valid key.
    """
    try:
        config: type[BaseModel] = declaration(kind, name).Config
    except SpecError as error:
        raise SpecError(f"{file}: {prefix}: {error}") from None
    return check(given, config, file, prefix).model_dump(mode="json", by_alias=True)
