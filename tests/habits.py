"""Habits that make src/fairfl hard to read."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path("src/fairfl")
PARTICIPLES = set(
    re.findall(
        r"\w+", "known found asks came_from told held shown made given drawn said wanted kept taken dealt called"
    )
)
QUESTION = re.compile(r"(What|How|Where|Which|Whether|Who|Whose|Why|When|Of|Those|That|The same|All that|All of)\b")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
PLUGINS = ("algorithms", "data", "models", "modifiers", "partition", "plots", "tables")
Found = Iterator[tuple[str, int]]  # habit and line


def is_truth(node: ast.expr) -> bool:
    """Whether an expression is certainly a truth value."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in ("bool", "any", "all", "isinstance", "callable")
    return isinstance(node, ast.Compare | ast.BoolOp) or isinstance(getattr(node, "op", None), ast.Not)


def is_sequence(node: ast.expr) -> bool:
    """Whether an expression is certainly a text, a list or a tuple."""
    return isinstance(node, ast.List | ast.Tuple | ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def names_set(node: ast.AST) -> Iterator[str]:
    """Names of values that a node binds: variables and parameters."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg


def is_wide_key(node: ast.AST) -> bool:
    """Whether an annotation is a dict with a key of three parts or more."""
    return (
        isinstance(node, ast.Subscript)
        and getattr(node.value, "id", "") in ("dict", "Mapping", "defaultdict")
        and isinstance(node.slice, ast.Tuple)
        and isinstance(key := node.slice.elts[0], ast.Subscript)
        and getattr(key.value, "id", "") == "tuple"
        and isinstance(key.slice, ast.Tuple)
        and len(key.slice.elts) > 2
    )


def is_hung(node: ast.AST) -> bool:
    """Whether a callable is set on another object than self."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(target := node.targets[0], ast.Attribute)
        and getattr(target.value, "id", "") not in ("self", "cls")
        and (isinstance(node.value, ast.Lambda) or getattr(getattr(node.value, "func", None), "attr", "") == "partial")
    )


def found_in(text: str) -> Found:
    """Habits of one module."""
    for node in ast.walk(ast.parse(text)):
        line = getattr(node, "lineno", 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = (node.left, node.right)
            if any(map(is_truth, sides)) and any(map(is_sequence, sides)):
                yield "text or list times truth", line
        for name in names_set(node):
            if name in PARTICIPLES:
                yield "participle as a name", line
        if is_wide_key(node):
            yield "key of three parts", line
        if is_hung(node):
            yield "callable set from outside", line
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and QUESTION.match(ast.get_docstring(node) or ""):
            yield "docstring that does not begin with a noun or verb", line
    lines = text.splitlines()
    for number, line in enumerate(lines[:-2], 1):
        opens, closes = re.search(r"(^|\s)\($", line), re.match(r"\s*\)", lines[number + 1])
        if opens and closes and re.search(r"\S  # ", lines[number]):
            yield "comment in a bracket", number + 1


def places() -> dict[str, list[str]]:
    """Habit -> 'file:line' of each place; a class name that is defined again counts as a habit, too."""
    habits: dict[str, list[str]] = {}
    classes: Counter[str] = Counter()
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for habit, line in found_in(text):
            habits.setdefault(habit, []).append(f"{file}:{line}")
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not is_plugin_class(file, node.name):
                classes[node.name] += 1
                if classes[node.name] > 1:
                    habits.setdefault("class name defined again", []).append(f"{file}:{node.lineno} {node.name}")
    return habits


def is_plugin_class(file: Path, name: str) -> bool:
    """Whether it is the class `Config` that each plug-in has by that name."""
    return name == "Config" and file.parent.name in PLUGINS
