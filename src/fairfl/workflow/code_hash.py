"""Code fingerprints: which modules a job executes, and a hash of what in them can change a number.

The set of modules is the transitive import closure (found by grimp, parent packages included, because importing
`a.b.c` runs `a` and `a.b`), without the plumbing in `fairfl.runtime` and `fairfl.recorded`. Modules that are looked up
by name at run time are invisible to any import graph: the caller names them as entries. Of a module counts what is in
its normal form (fairfl.workflow.normal_form). Files next to it that it names, READS = ("beside.json",), have hashes of
their own; that a job runs and reads nothing else is seen at its end (fairfl.runtime.opened).
"""

import ast
import hashlib
import os
import re
import sys
from functools import cache
from importlib.util import decode_source
from pathlib import Path
from typing import Any

import grimp
from grimp.adaptors.modulefinder import ModuleFinder
from grimp.application.config import settings

from fairfl.runtime import notes
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import digest
from fairfl.runtime.hooks import place_of
from fairfl.runtime.sealed import read_bytes
from fairfl.workflow.normal_form import normal_form, planning, reads_programs

PACKAGE = "fairfl"
ROOT = Path(__file__).absolute().parents[2]
# Who may write a file, where a job runs, how it starts and what it prints, and what stored results give, which has been
# compared with its hash: none of this changes a number.
PLUMBING = (f"{PACKAGE}.runtime.", f"{PACKAGE}.recorded.")

MEMORY = Path("results/.code_hashes.json")
_used: dict[
    str, list[Any]
] = {}  # of this plan: source of a module, hashed -> hash of what counts in it, reads_programs
_BESIDE = (".css", ".j2", ".js")  # not what editors and merges leave: page.py~, page.py.orig


def _path(module: str) -> Path:
    base = ROOT.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def _is_job(module: str) -> bool:
    return module.startswith(f"{PACKAGE}.jobs.")


class _Finder(ModuleFinder):
    """Leaves out links to nothing, and files that are no modules: a half-written one stops only who uses it."""

    def __init__(self) -> None:
        self.faults: dict[str, str] = {}  # module -> file, line and what is wrong

    def _is_python_file(self, filename: str, dirpath: str) -> bool:
        path = Path(dirpath, filename)
        return (
            super()._is_python_file(filename, dirpath)
            and filename.isprintable()  # else it is no module: grimp panics at what is no UTF-8
            and path.is_file()
            and _module(path) not in self.faults
        )

    def leave_out(self, path: Path) -> None:
        """Leave out a file that grimp cannot read."""
        line, what = "", "is not Python text"
        try:
            compile(path.read_bytes(), path, "exec", ast.PyCF_ONLY_AST)
        except SyntaxError as error:
            line, what = (
                f", line {error.lineno}" if error.lineno else "",
                f"SyntaxError: {error.msg}",
            )
        except (OSError, ValueError) as error:
            what = str(error)
        self.faults[_module(path)] = f"{os.path.relpath(path)}{line}: {what}"


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


_finder = _Finder()


@cache
def _graph() -> Any:
    settings.configure(MODULE_FINDER=_finder)
    # No on-disk cache: grimp's is keyed by mtime, and a checkout sets mtimes freely.
    try:
        graph = grimp.build_graph(PACKAGE, cache_dir=None, exclude_type_checking_imports=True)
    except grimp.exceptions.SourceSyntaxError as error:
        _finder.leave_out(Path(error.filename))
        return _graph()
    except UnicodeError as error:
        match = re.search(r"decode file (.*) as UTF-8", str(error))
        if not match:
            raise
        _finder.leave_out(Path(match[1]))
        return _graph()
    for module in [name for name in graph.modules if name.startswith(f"{PACKAGE}.recorded.")]:
        graph.remove_module(module)  # with what it imports
    for job in filter(_is_job, graph.modules):  # without what they import for planning
        planned = [
            (node.lineno, node.end_lineno or 0)
            for node in planning(ast.parse(_path(job).read_bytes()))
        ]
        for imported in graph.find_modules_directly_imported_by(job) if planned else ():
            lines = [
                place["line_number"]
                for place in graph.get_import_details(importer=job, imported=imported)
            ]
            if all(any(first <= line <= last for first, last in planned) for line in lines):
                graph.remove_import(importer=job, imported=imported)
    return graph


@cache
def closure(*entries: str) -> dict[str, str]:
    """Hash of all that can change what running the entry modules results in: {module or file next to it: hash}."""
    modules = set(entries)
    _graph()
    for entry in entries:
        if fault := _finder.faults.get(entry):
            raise FairflError(fault)
        modules |= _graph().find_upstream_modules(entry)
    for module in list(modules):
        parts = module.split(".")
        parents = {".".join(parts[:n]) for n in range(1, len(parts))} - modules
        modules |= parents
        # What a package's __init__ imports runs too.
        for parent in parents:
            modules |= _graph().find_upstream_modules(parent)
    for module, fault in _finder.faults.items():
        if any(module.rpartition(".")[2] in _imported(user) for user in modules):
            raise FairflError(fault)
    hashed = sorted(module for module in modules if not f"{module}.".startswith(PLUMBING))
    whole = any(map(_reads_programs, hashed))
    files = sorted({path for module in hashed for path in _beside(_path(module), _source(module))})
    return {module: _hashed(module, whole)[0] for module in hashed} | {
        path.relative_to(ROOT).as_posix(): digest(read_bytes(path)) for path in files
    }


def _imported(module: str) -> set[str]:
    """Names that a module imports, each part of a dotted one."""
    nodes = [
        node
        for node in ast.walk(ast.parse(_source(module)))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = [alias.name for node in nodes for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {part for name in names for part in name.split(".")}


@cache
def _source(module: str) -> bytes:
    return read_bytes(_path(module))


@cache
def _reads_programs(module: str) -> bool:
    return _hashed(module, False)[1]


@cache
def _hashed(module: str, whole: bool) -> tuple[str, bool]:
    """Digest of a module's normal form, and whether it may read programs; computed once for each source."""
    source = _source(module)
    options = (whole, _is_job(module), sys.version_info[:2], len(source))
    key = hashlib.sha256(_form() + repr(options).encode() + source).hexdigest()
    if key not in _used:
        _used[key] = _seen().get(key) or _computed(module, source, whole)
    return _used[key][0], _used[key][1]


def _computed(module: str, source: bytes, whole: bool) -> list[Any]:
    text = normal_form(decode_source(source), whole, job=_is_job(module))
    return [digest(text.encode()), reads_programs(text)]


@cache
def _form() -> bytes:
    return Path(normal_form.__code__.co_filename).read_bytes()


@cache
def _seen() -> dict[str, list[Any]]:
    return notes.read(MEMORY)


def save() -> None:
    """Keep the hashes for the next plan."""
    if not _used.keys() <= _seen().keys():
        notes.write(MEMORY, _used)


@cache
def _beside(path: Path, source: bytes) -> list[Path]:
    """Files that go with a module: files that its READS names, and `page.html.j2` with `page.py`.

    Raises FairflError if READS is given otherwise than by a list of such files in a separate statement.
    """
    names = [
        name
        for name in os.listdir(path.parent)
        if name.startswith(f"{path.stem}.") and name.endswith(_BESIDE)
    ]
    tree = ast.parse(source) if b"READS" in source else ast.Module([], [])
    assigned = {
        target: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "READS" and isinstance(node.ctx, ast.Store):
            where = f"{place_of(path, node.lineno)}: READS"
            try:
                named = [
                    str(path.with_name(name)) for name in ast.literal_eval(assigned[node] or node)
                ]
            except (KeyError, ValueError, TypeError):
                raise FairflError(f"{where}: expected once, as READS = ('beside.json',)") from None
            for name in named:
                if not os.path.isfile(name):
                    raise FairflError(
                        f"{where}: {os.path.basename(name)!r} is not a file next to the module"
                    )
            names += map(os.path.basename, named)
    return [path.with_name(name) for name in names]
