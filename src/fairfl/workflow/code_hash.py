"""Code fingerprints: which modules a job executes, and a hash of what in them can change a number.

The set of modules is the transitive import closure (found by grimp, parent packages included, because importing
`a.b.c` runs `a` and `a.b`), without the plumbing in `fairfl.runtime`. Modules that are looked up by name at run time
are invisible to any import graph: the caller names them as entries. Of a module counts what is in its normal form
(fairfl.workflow.normal_form), with the files beside it that it names, READS = ("beside.json",); that a plug-in reads no
other is seen while it runs (fairfl.runtime.watch).
"""

import ast
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any

import grimp

from fairfl.runtime.errors import FairflError
from fairfl.runtime.hooks import place_of
from fairfl.runtime.sealed import read_bytes
from fairfl.workflow.normal_form import normal_form, planning, reads_programs

PACKAGE = "fairfl"
ROOT = Path(__file__).resolve().parents[2]
# Who may write a file, where a job runs, how it starts and what it prints: none of this changes a number.
PLUMBING = f"{PACKAGE}.runtime."
# But these stand between a file and the numbers that a job computes with or prints.
READERS = {f"{PLUMBING}{name}" for name in ("differences", "generators", "json_text", "result_files", "tables")}

_BESIDE = {".css", ".j2", ".js"}  # not what editors and merges leave: page.py~, page.py.orig


def _path(module: str) -> Path:
    base = ROOT.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def _is_job(module: str) -> bool:
    return module.startswith(f"{PACKAGE}.jobs.")


@cache
def _graph() -> Any:
    # No on-disk cache: grimp's is keyed by mtime, and a checkout sets mtimes freely.
    try:
        graph = grimp.build_graph(PACKAGE, cache_dir=None, exclude_type_checking_imports=True)
    except grimp.exceptions.SourceSyntaxError as error:
        where = f"{os.path.relpath(error.filename)}, line {error.lineno}"
        raise FairflError(f"{where}: SyntaxError: {(error.text or '').strip()}") from None
    for job in filter(_is_job, graph.modules):  # without what they import for planning
        planned = [(node.lineno, node.end_lineno or 0) for node in planning(ast.parse(_path(job).read_bytes()))]
        for imported in graph.find_modules_directly_imported_by(job) if planned else ():
            lines = [place["line_number"] for place in graph.get_import_details(importer=job, imported=imported)]
            if all(any(first <= line <= last for first, last in planned) for line in lines):
                graph.remove_import(importer=job, imported=imported)
    return graph


@cache
def closure(*entries: str) -> dict[str, str]:
    """Hash of every module that can change what running the entry modules results in: {module: hash}, sorted."""
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
    hashed = sorted(module for module in modules if module in READERS or not f"{module}.".startswith(PLUMBING))
    whole = any(map(_reads_programs, hashed))
    return {module: module_hash(module, whole) for module in hashed}


@cache
def _text(module: str, whole: bool) -> str:
    return normal_form(_source(module).decode("utf-8"), whole, job=_is_job(module))


@cache
def _source(module: str) -> bytes:
    return read_bytes(_path(module))


@cache
def _reads_programs(module: str) -> bool:
    return reads_programs(_text(module, False))


@cache
def module_hash(module: str, whole: bool) -> str:
    """First 16 hex digits of the sha256 of a module's normal form and of the files that go with it.

    `page.html.j2` goes with `page.py`. Raises FairflError if a file that it names is missing.
    """
    path = _path(module)
    digest = hashlib.sha256(_text(module, whole).encode())
    named = files_named(path, _source(module))
    beside = sorted(file for file in path.parent.glob(f"{path.stem}.*") if file.suffix in _BESIDE)
    for file in [*beside, *named]:
        digest.update(file.name.encode() + read_bytes(file))
    return digest.hexdigest()[:16]


def files_named(path: Path, source: bytes) -> list[Path]:
    """The files beside a module that its READS names. Raises FairflError if one is not there."""
    found: list[Path] = []
    for node in ast.parse(source).body if b"READS" in source else ():
        if not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "READS"):
            continue
        try:
            names = tuple(ast.literal_eval(node.value))
        except (ValueError, TypeError):
            raise FairflError(f"{place_of(path, node.lineno)}: READS: expected names, ('beside.json',)") from None
        for name in names:
            if not (isinstance(name, str) and name == Path(name).name and path.with_name(name).is_file()):
                raise FairflError(f"{place_of(path, node.lineno)}: READS: {name!r} is no file beside it")
            found.append(path.with_name(name))
    return found
