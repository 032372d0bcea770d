"""Code fingerprints: which modules a job executes, and a hash of what they say.

The hash is taken over the syntax tree without comments, docstrings and formatting, so that only a
change in behaviour changes it. The set of modules is the transitive import closure (found by grimp,
parent packages included, because importing `a.b.c` runs `a` and `a.b`). Modules that are looked up by
name at run time are invisible to any import graph: the caller names them as entries.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import grimp

PACKAGE = "fairfl"
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
    return ast.dump(tree, annotate_fields=False)


@cache
def module_hash(module: str) -> str:
    """First 16 hex digits of the sha256 of the normalised module."""
    text = normalised(_path(module).read_text(encoding="utf-8"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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


def differences(old: Any, new: Any, prefix: str = "") -> Iterable[str]:
    """Say in words where two specs differ: `hyperparameters.lambda: 1.0 -> 2.0`."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            yield from differences(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else key)
    elif old != new:
        if prefix.startswith("code."):
            verb = "new module" if old is None else "module gone" if new is None else "edited"
            yield f"{verb} {prefix.removeprefix('code.')}"
        else:
            yield f"{prefix}: {old!r} -> {new!r}"
