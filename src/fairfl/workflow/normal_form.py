"""What a program does, as text: its syntax tree without comments, formatting, docstrings and annotations of functions.

Everything else stays: default values, constants, decorators, annotated fields of classes, messages.
"""

import ast
import re
from typing import Any

# Functions of a job's module.
_PLANNING = ("spec", "spec_of_run", "plugins")
# Decorators that do not look at annotations, by the last part of their name; others may, as validate_call does.
_BLIND = {
    "abstractmethod", "cache", "cached_property", "classmethod", "contextmanager", "lru_cache", "no_grad", "override",
    "property", "setter", "staticmethod", "wraps",
}  # fmt: skip
# Determined by the place in the tree, or without effect.
_SILENT = {"ctx", "kind", "type_comment", "type_ignores"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DOCUMENTED = (ast.Module, ast.ClassDef, *_FUNCTIONS)
# How a program gets at docstrings and annotations, its own or another's.
_READING = re.compile(
    r"'(?:__doc__|getdoc|__annotations__|__annotate__|get_annotations|get_type_hints|getsource|signature|singledispatch"
    r"|singledispatchmethod|TypeAdapter|validate_call|jit|custom_op|__code__)'"
)


def normal_form(source: str, whole: bool = False, job: bool = False) -> str:
    """Different for programs with different results.

    Args:
        source: a module.
        whole: leave out only comments and formatting.
        job: the module is a job's; what only planning calls is left out (:func:`planning`).
    """
    tree = ast.parse(source)
    if job:
        left_out = planning(tree)
        tree.body = [node for node in tree.body if node not in left_out]
    return _text(tree, whole)


def reads_programs(text: str) -> bool:
    """True if a program, by its normal form, may read what is left out of this form: its own, or another module's."""
    return bool(_READING.search(text))


def planning(tree: ast.Module) -> list[ast.stmt]:
    """The functions of a job's module that the planner calls and the job does not: the spec holds what they return."""
    functions = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in _PLANNING
    ]
    rest = (node for part in tree.body if part not in functions for node in ast.walk(part))
    calls = {
        node.func.id
        for node in rest
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return [node for node in functions if node.name not in calls]


def _is_blind(decorator: ast.expr) -> bool:
    """`@functools.lru_cache(maxsize=1)` is."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (
        function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    ) in _BLIND


def _text(value: Any, whole: bool) -> str:
    """A tree without its empty fields, of which each version of Python has others; `whole` as in normal_form."""
    if isinstance(value, list):
        return f"[{','.join([_text(one, whole) for one in value])}]"
    if not isinstance(value, ast.AST):
        return repr(value)
    if not whole:
        _strip(value)
    parts = [value.__class__.__name__]
    for name in value._fields:
        field = getattr(value, name, None)
        if field is not None and field != [] and name not in _SILENT:
            parts.append(f"{name}={_text(field, whole)}")
    return f"({' '.join(parts)})"


def _strip(node: ast.AST) -> None:
    """Take docstrings, and annotations that no decorator looks at."""
    if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
        node.body = node.body[1:]
    if isinstance(node, _FUNCTIONS) and all(map(_is_blind, node.decorator_list)):
        node.returns = None
        for argument in ast.walk(node.args):
            vars(argument).pop("annotation", None)
