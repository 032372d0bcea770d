"""What a plug-in file declares, read without running it.

Algorithms, modifiers, models, partitioners and data sets are one file each, and each file declares its parameters as a
pydantic `class Config`. The Snakefile has to validate them on every parse, but running the file would
import torch, which takes two seconds. So only the declaration is executed: the imports that it needs,
the class `Config`, and upper-case constants that need nothing else.

Where a folder has an `interface.py`, whose class the plug-in extends (`class Eagle(Algorithm[Config])`), class
attributes are part of the declaration: those with a literal value in the interface, and the values that the plug-in
puts in their place.
"""

import ast
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from fairfl.experiments.plugins import PACKAGE, known
from fairfl.runtime.validation import SpecError, check, nearest

_CHEAP = {"typing", "pydantic", "fairfl.experiments.base", "math", "collections.abc"}
# What a constant may call besides.
_BUILT_IN = (
    "bool", "dict", "float", "frozenset", "int", "len", "list", "max", "min", "range", "set", "sorted", "str", "sum",
    "tuple",
)  # fmt: skip


@cache
def declaration(kind: str, name: str) -> SimpleNamespace:
    """The `Config` class, the upper-case constants and the class attributes of src/fairfl/<kind>/<name>.py.

    Raises SpecError naming the nearest plug-in if there is no such file, and the file if it cannot be read.
    """
    try:
        known(kind)(name)
    except ValueError as error:
        raise SpecError(str(error)) from None
    path = PACKAGE / kind / f"{name}.py"
    namespace: dict[str, Any] = {"__name__": f"fairfl.{kind}.{name}", "__file__": str(path)}
    try:
        tree = ast.parse(path.read_bytes(), str(path))
        exec(compile(ast.Module(body=_declared(tree), type_ignores=[]), str(path), "exec"), namespace)
        namespace |= _class_attributes(tree, _interface(path.with_name("interface.py")))
    except Exception as error:  # a plug-in is a program that somebody writes
        raise SpecError(f"{path}: its declaration fails: {type(error).__name__}: {error}") from error
    return SimpleNamespace(**{k: v for k, v in namespace.items() if not k.startswith("__")})


@cache
def _interface(path: Path) -> dict[str, dict[str, Any]]:
    """Class attributes of an interface file, by class that plug-ins may extend: those generic in their Config.

    Only attributes with a literal value count; inherited ones are included. {} if there is no such file.
    """
    classes: dict[str, dict[str, Any]] = {"Generic": {}}
    body = ast.parse(path.read_bytes(), str(path)).body if path.is_file() else []
    for node in (node for node in body if isinstance(node, ast.ClassDef)):
        base = next((base for base in _bases(node) if base in classes), None)
        if base is not None:
            literals = {name: ast.literal_eval(value) for name, value in _assigned(node) if _is_literal(value)}
            classes[node.name] = {**classes[base], **literals}
    del classes["Generic"]
    return classes


def _class_attributes(tree: ast.Module, interface: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Class attributes of the plug-in's class. Raises TypeError without one, AttributeError for one of another name."""
    if not interface:
        return {}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    extending = [(node, base) for node in classes for base in _bases(node) if base in interface]
    if len(extending) != 1:
        raise TypeError(f"{len(extending)} classes extend {' or '.join(interface)}, expected one")
    node, base = extending[0]
    attributes = dict(interface[base])
    for name, value in _assigned(node):
        if name not in attributes:
            raise AttributeError(f"{node.name}.{name} is not a class attribute of {base}{nearest(name, attributes)}")
        if not _is_literal(value):
            raise ValueError(f"{node.name}.{name} must be a literal, not {ast.unparse(value)}")
        attributes[name] = ast.literal_eval(value)
    return attributes


def _bases(node: ast.ClassDef) -> list[str]:
    """Names of the classes that a class extends, without what stands in brackets."""
    plain = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return [base.id for base in plain if isinstance(base, ast.Name)]


def _assigned(node: ast.ClassDef) -> list[tuple[str, ast.expr]]:
    """(name, value) of the assignments in the body of a class."""
    single = [part for part in node.body if isinstance(part, ast.Assign) and len(part.targets) == 1]
    annotated = [part for part in node.body if isinstance(part, ast.AnnAssign) and part.value is not None]
    pairs = [(part.targets[0], part.value) for part in single] + [(part.target, part.value) for part in annotated]
    return [(target.id, value) for target, value in pairs if isinstance(target, ast.Name) and value is not None]


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError):
        return False
    return True


def _declared(tree: ast.Module) -> list[ast.stmt]:
    """Cheap imports, the class `Config`, and the upper-case constants that are made from these alone."""
    kept: list[ast.stmt] = []
    known = set(_BUILT_IN)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom | ast.Import):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            names = [alias.asname or alias.name for alias in node.names] if set(modules) <= _CHEAP else []
        elif isinstance(node, ast.ClassDef):
            names = [node.name] if node.name == "Config" else []
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name) and target.id.isupper()]
            used = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            names = names if used <= known else []
        else:
            names = []
        if names:
            kept.append(node)
            known |= set(names)
    return kept


def parameters(kind: str, name: str, given: dict[str, Any], file: str, prefix: str) -> dict[str, Any]:
    """All parameters of a plug-in, defaults filled in, under the names that YAML uses.

    Raises SpecError with file, key, value and nearest valid key.
    """
    try:
        config: type[BaseModel] = declaration(kind, name).Config
    except SpecError as error:
        raise SpecError(f"{file}: {prefix}: {error}") from None
    return check(given, config, file, prefix).model_dump(mode="json", by_alias=True)
