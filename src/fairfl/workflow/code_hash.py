"""Code fingerprints: which modules a job executes, and a hash of what they say.

The hash is taken over the syntax tree without comments, docstrings and formatting, so that only a
change in behaviour changes it. The set of modules is the transitive import closure (found by grimp,
parent packages included, because importing `a.b.c` runs `a` and `a.b`). Modules that are looked up by
name at run time are invisible to any import graph: the caller names them as entries.
"""

import ast
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import grimp

PACKAGE = "fairfl"
_BESIDE = {".css", ".j2"}  # not what editors and merges leave: page.py~, page.py.orig
ROOT = Path(__file__).resolve().parents[2]


@cache
def _graph() -> Any:
    # No on-disk cache: grimp's is keyed by mtime, and a checkout sets mtimes freely.
    return grimp.build_graph(PACKAGE, cache_dir=None, exclude_type_checking_imports=True)


def _path(module: str) -> Path:
    base = ROOT.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def normalised(source: str) -> str:
    """The program without comments, docstrings and formatting, as text."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = body[0] if body else None
        if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
            # `pass` keeps a function whose body was only a docstring valid and equal to `pass`.
            node.body = body[1:] or [ast.Pass()]
    text: list[str] = []
    _write(tree, text.append)
    return "".join(text)


def _write(node: Any, say: Callable[[str], None]) -> None:
    """Say a syntax tree without its empty fields, of which each version of Python has others."""
    if isinstance(node, ast.AST):
        say(f"{type(node).__name__}(")
        for name in node._fields:
            value = getattr(node, name, None)
            if value is not None and value != []:
                say(name)
                _write(value, say)
        say(")")
    elif isinstance(node, list):
        say("[")
        for item in node:
            _write(item, say)
        say("]")
    else:
        say(repr(node))


@cache
def module_hash(module: str) -> str:
    """First 16 hex digits of the sha256 of the normalised module and of the files that go with it.

    `page.html.j2` goes with `page.py`.
    """
    path = _path(module)
    said = hashlib.sha256(normalised(path.read_text(encoding="utf-8")).encode())
    for file in sorted(path.parent.glob(f"{path.stem}.*")):
        if file.suffix in _BESIDE:
            said.update(file.read_bytes())
    return said.hexdigest()[:16]


@cache
def closure(*entries: str) -> dict[str, str]:
    """Hash of every module that running the entry modules can execute: {module: hash}, sorted."""
    modules = set(entries)
    for entry in entries:
        modules |= _graph().find_upstream_modules(entry)
    for module in list(modules):
        parts = module.split(".")
        parents = {".".join(parts[:n]) for n in range(1, len(parts))} - modules
        modules |= parents
        # What a package's __init__ imports runs too.
        for parent in parents:
            modules |= _graph().find_upstream_modules(parent)
    return {module: module_hash(module) for module in sorted(modules)}
