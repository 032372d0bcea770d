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
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel, ValidationError

from fairfl.experiments import hyperparameters
from fairfl.experiments.plugins import PACKAGE, known
from fairfl.runtime import opened
from fairfl.runtime.errors import PluginError
from fairfl.runtime.hooks import no_hook
from fairfl.runtime.plain_data import one_line
from fairfl.runtime.validation import SpecError, check, nearest

_CHEAP = {
    "typing",
    "pydantic",
    "fairfl.experiments.base",
    hyperparameters.__name__,  # imported here, so that hashes of jobs that read declarations have it
    "math",
    "collections.abc",
}
# What a constant may call besides.
_BUILT_IN = (
    "bool", "dict", "float", "frozenset", "int", "len", "list", "max", "min", "range", "set", "sorted", "str", "sum",
    "tuple",
)  # fmt: skip


@cache
@opened.by_fairfl()
def declaration(kind: str, name: str) -> SimpleNamespace:
    """The `Config` class, the upper-case constants and the class attributes of src/fairfl/<kind>/<name>.py.

    Raises SpecError naming the nearest plug-in if it is missing, PluginError naming file and line if it cannot
    be used as it stands.
    """
    try:
        known(kind)(name)
    except ValueError as error:
        raise SpecError(str(error)) from None
    path = PACKAGE / kind / f"{name}.py"
    namespace: dict[str, Any] = {"__name__": f"fairfl.{kind}.{name}", "PER_SEED": False}
    try:
        tree = ast.parse(path.read_bytes(), str(path))
        exec(
            compile(ast.Module(body=_declared(tree), type_ignores=[]), str(path), "exec"), namespace
        )
        config = namespace.get("Config")
        if not (isinstance(config, type) and issubclass(config, BaseModel)):
            raise TypeError("no class Config(Strict), of its parameters")
        check_defaults(config)
    except Exception as error:  # a plug-in is a program that somebody writes
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise PluginError(
            f"{_where(path, error)}: {type(error).__name__}: {one_line(what)}"
        ) from error
    namespace |= _class_attributes(path, tree, _interface(path.with_name("interface.py")))
    return SimpleNamespace(**{k: v for k, v in namespace.items() if not k.startswith("__")})


def _where(path: Path, error: Exception) -> str:
    """'src/fairfl/models/cnn.py, line 12', of what stands there."""
    lines = [
        line
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == str(path)
    ]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return f"{path.relative_to(PACKAGE.parents[1])}" + (f", line {line}" if line else "")


def check_defaults(config: type[BaseModel]) -> None:
    """Raises ValueError for a default that its own field refuses."""
    try:
        config.model_validate({})
    except ValidationError as error:
        for problem in error.errors():
            if problem["type"] != "missing" and problem["loc"]:
                key = ".".join(map(str, problem["loc"]))
                raise ValueError(
                    f"default of {key}: {problem['input']!r}: {problem['msg']}"
                ) from None


@dataclass(frozen=True)
class _Interface:
    """The class that plug-ins of a folder extend, which is generic in their Config."""

    name: str
    attributes: dict[str, Any]  # those with a literal value
    hooks: dict[str, ast.FunctionDef]


@cache
def _interface(path: Path) -> _Interface | None:
    """The interface in a file; None if the file does not exist, or has none."""
    body = ast.parse(path.read_bytes(), str(path)).body if path.is_file() else []
    for node in body:
        if isinstance(node, ast.ClassDef) and "Generic" in _bases(node):
            hooks = {part.name: part for part in _methods(node)}
            return _Interface(node.name, _literals(node), hooks)
    return None


def _class_attributes(path: Path, tree: ast.Module, interface: _Interface | None) -> dict[str, Any]:
    """Class attributes of the plug-in's class.

    Raises PluginError, a line for each fault, if it has no class or one that holds what its interface does not know.
    """
    if interface is None:
        return {}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    extending = [node for node in classes if interface.name in _bases(node)]
    file = path.relative_to(PACKAGE.parents[1])
    if len(extending) != 1:
        raise PluginError(f"{file}: {len(extending)} classes extend {interface.name}, expected one")
    (node,) = extending
    if faults := sorted(set(_faults(tree, node, interface))):
        raise PluginError("\n".join(f"{file}, line {line}: {what}" for line, what in faults))
    return interface.attributes | _literals(node)


def _faults(
    tree: ast.Module, node: ast.ClassDef, interface: _Interface
) -> Iterator[tuple[int, str]]:
    """(line, what is wrong) of a plug-in's class: names that are not used, hooks that cannot be called."""
    used = {part.attr for part in ast.walk(tree) if isinstance(part, ast.Attribute)}
    if len(node.bases) > 1 or node.keywords:
        yield (
            node.lineno,
            f"{node.name} extends more than {interface.name}; write helpers as functions",
        )
    for other in node.body:
        if not isinstance(
            other, ast.FunctionDef | ast.Assign | ast.AnnAssign | ast.Pass | ast.Expr
        ):
            yield (
                other.lineno,
                f"{node.name}: expected attributes and methods, not {ast.unparse(other).splitlines()[0]}",
            )
    for method in _methods(node):
        name, hook = method.name, interface.hooks.get(method.name)
        if hook is not None and not _fits(method.args, len(hook.args.args)):
            takes, gets = ast.unparse(method.args), ", ".join(arg.arg for arg in hook.args.args)
            yield method.lineno, f"{node.name}.{name}: takes ({takes}), it is given ({gets})"
        elif hook is None and not (name.startswith("_") and name in used):
            yield method.lineno, no_hook(node.name, name, interface.name, interface.hooks)
    for name, value in _assigned(node):
        if name not in interface.attributes:
            what = f"a class attribute of {interface.name}{nearest(name, interface.attributes)}"
            yield value.lineno, f"{node.name}.{name} is not {what}"
        elif not _is_literal(value):
            yield value.lineno, f"{node.name}.{name} must be a literal, not {ast.unparse(value)}"
    inside: list[ast.FunctionDef] = []
    for part in ast.walk(tree):  # a class comes before what is in it
        if isinstance(part, ast.ClassDef):
            inside += _methods(part)
        elif isinstance(part, ast.FunctionDef) and part not in inside and _takes_self(part):
            what = "is in no class and would never be called; is it indented right?"
            yield part.lineno, f"{part.name}(self, ...) {what}"


def _takes_self(function: ast.FunctionDef) -> bool:
    return [argument.arg for argument in function.args.args[:1]] == ["self"]


def _methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [part for part in node.body if isinstance(part, ast.FunctionDef)]


def _fits(arguments: ast.arguments, count: int) -> bool:
    """True if a function can be called with this number of positional arguments."""
    most = len(arguments.args) if arguments.vararg is None else count
    return len(arguments.args) - len(arguments.defaults) <= count <= most


def _bases(node: ast.ClassDef) -> list[str]:
    """Names of the classes that a class extends, without what stands in brackets."""
    plain = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return [base.id for base in plain if isinstance(base, ast.Name)]


def _assigned(node: ast.ClassDef) -> list[tuple[str, ast.expr]]:
    """(name, value) of the assignments in the body of a class."""
    pairs = []
    for part in node.body:
        if isinstance(part, ast.Assign | ast.AnnAssign) and part.value is not None:
            target = part.target if isinstance(part, ast.AnnAssign) else part.targets[0]
            pairs += [(target.id, part.value)] if isinstance(target, ast.Name) else []
    return pairs


def _literals(node: ast.ClassDef) -> dict[str, Any]:
    """Class attributes whose values are literals."""
    return {name: ast.literal_eval(value) for name, value in _assigned(node) if _is_literal(value)}


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError):
        return False
    return True


def _declared(tree: ast.Module) -> list[ast.stmt]:
    """Cheap imports, the class `Config`, and the upper-case constants that are made from these alone."""
    body: list[ast.stmt] = []
    available = set(_BUILT_IN)
    for node in tree.body:
        names: list[str] = []
        if isinstance(node, ast.ImportFrom | ast.Import):
            modules = {getattr(node, "module", alias.name) for alias in node.names}
            if modules <= _CHEAP:
                names = [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.ClassDef) and node.name == "Config":
            names = [node.name]
        elif isinstance(node, ast.Assign):
            used = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            targets = [each.id for each in node.targets if isinstance(each, ast.Name)]
            if used <= available:
                names = list(filter(str.isupper, targets))
        if names:
            body.append(node)
            available |= set(names)
    return body


def parameters(
    kind: str, name: str, options: dict[str, Any], file: str, prefix: str
) -> dict[str, Any]:
    """All parameters of a plug-in, defaults filled in, under the names that YAML uses.

    Raises SpecError with file, key, value and nearest valid key.
    """
    try:
        config: type[BaseModel] = declaration(kind, name).Config
    except SpecError as error:
        raise SpecError(f"{file}: {prefix}: {error}") from None
    return check(options, config, file, prefix).model_dump(mode="json", by_alias=True)
