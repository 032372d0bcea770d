"""What no import graph can see of a module: the files that it names are hashed with it, all else is refused.

A module names files beside it, `READS = ("beside.json",)`. Plug-ins, and what they share, read nothing else: whatever a
result depends on comes by argument, or stands in the code. Of data sets and models the arguments may be paths, whose
contents the records of other jobs have; the others get numbers only.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from fairfl.runtime.errors import FairflError, PluginError
from fairfl.runtime.hooks import place_of

# All but what finds raw files: their contents are in the records of the jobs that fetch them.
_PLUGINS = re.compile(
    r"fairfl\.(algorithms|data|metrics|models|modifiers|partition)(?!\.(download|pretrained|prepared|partition_file)$)"
)
_WITH_PATHS = re.compile(r"fairfl\.(data|models)\b")
# What envs/ pins of all that a plug-in may compute with.
LIBRARIES = {
    "PIL", "numpy", "opacus", "pandas", "pyarrow", "pydantic", "safetensors", "scipy", "sklearn", "tokenizers", "torch",
    "torchvision", "transformers", "yaml",
}  # fmt: skip
# What of Python the plug-ins without paths may import: it knows nothing but its arguments.
_PURE = {
    "__future__", "abc", "array", "bisect", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal",
    "enum", "fractions", "functools", "hashlib", "heapq", "itertools", "json", "math", "numbers", "operator", "pathlib",
    "random", "re", "statistics", "string", "types", "typing", "warnings", "zlib",
}  # fmt: skip
# Code that the graph does not see, and what differs between computers; `find_spec` only says where a library lies.
_OUTSIDE = re.compile(
    r"(importlib(?!\.util($|\.find_spec))|os\.(environ|getenv|popen|system)|builtins|__(builtins|import|loader|spec)__|exec|eval|globals|vars"
    r"|runpy|pkgutil|subprocess|multiprocessing|socket|ctypes|platform\.node|torch\.(hub|ops\.load_library"
    r"|utils\.cpp_extension)|sys\.(modules|path|argv)|.+\.(environb?|getenv|__subclasses__))\b"
)
# Where libraries lie, which are pinned.
_PLACES = {"importlib.util.find_spec", "sysconfig.get_path"}
_READING = re.compile(
    r"open|connect|iterdir|r?glob|exists|is_file|stat|imread|(safe|io|codecs)_?open|memmap|open_memmap|fromfile|from_file"
    r"|genfromtxt|load(txt|_file|_table|mat)?|(Zip|Tar|Gzip|LZMA|BZ2)File|DataSource|(read|write)_\w+"
    r"|save|savez|savetxt|save_file|to_(csv|parquet|pickle|json)|tofile"
)


def named(module: str, path: Path, source: bytes) -> list[Path]:
    """The files that a module names.

    Raises FairflError if one is missing, PluginError if the module is a plug-in's and uses what cannot be seen.
    """
    names: tuple[str, ...] = ()
    if not (plugin := _PLUGINS.match(module)) and b"READS" not in source:
        return []
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(_is(target, "READS") for target in node.targets):
            try:
                names = tuple(ast.literal_eval(node.value))
            except (ValueError, TypeError):
                raise FairflError(f"{place_of(path, node.lineno)}: READS: expected names, ('beside.json',)") from None
    for name in names:
        if not (isinstance(name, str) and name == Path(name).name and path.parent.joinpath(name).is_file()):
            raise FairflError(f"{place_of(path)}: READS: {name!r} is no file beside it")
    if plugin:
        for line, what in sorted(_Plugin(tree, names, bool(_WITH_PATHS.match(module))).refused()):
            raise PluginError(
                f"{place_of(path, line)}: {what}: no change there would be noticed; name files beside the module, "
                f'READS = ("beside.json",), all else must come by argument'
            )
    return [path.with_name(name) for name in names]


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class _Plugin:
    """`reads` are the names of files that it may read; `paths`: also what its functions' arguments lead to."""

    def __init__(self, tree: ast.Module, reads: tuple[str, ...], paths: bool) -> None:
        self.tree, self.reads, self.paths = tree, reads, paths
        self.origins: dict[str, str] = {}  # names -> what was imported under them
        self.called: dict[ast.expr, ast.Call] = {}
        self.parts: set[ast.expr] = set()  # of longer names
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias, origin in _imported(node):
                    self.origins[alias.asname or alias.name.partition(".")[0]] = (
                        origin if alias.asname or isinstance(node, ast.ImportFrom) else origin.partition(".")[0]
                    )
            elif isinstance(node, ast.Call):
                self.called[node.func] = node
            elif isinstance(node, ast.Attribute):
                self.parts.add(node.value)

    def refused(self) -> Iterator[tuple[int, str]]:
        """(line, what stands there)"""
        yield from self._scope(self.tree, {"READS"} if self.reads else set())

    def _scope(self, scope: ast.AST, given: set[str]) -> Iterator[tuple[int, str]]:
        """A module or function; `given` are the names around it that stand for what may be read."""
        inner: list[ast.AST] = []
        nodes = list(_own_nodes(scope, inner))
        if self.paths and not isinstance(scope, ast.Module):
            given = given | {node.arg for node in ast.walk(scope) if isinstance(node, ast.arg)}
        while more := {name for node in nodes for name in self._bound(node, given)} - given:
            given = given | more
        for node in nodes:
            yield from ((node.lineno, what) for what in self._wrong(node, given))  # type: ignore[attr-defined]
        for function in inner:
            yield from self._scope(function, given)

    def _bound(self, node: ast.AST, given: set[str]) -> Iterator[str]:
        """Names that this binds to what is given."""
        for field in ("value", "iter", "context_expr"):
            source = getattr(node, field, None)
            targets = getattr(node, "targets", [getattr(node, "target", getattr(node, "optional_vars", None))])
            if isinstance(source, ast.expr) and self._mentions(source, given):
                for target in filter(None, targets):
                    yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))

    def _mentions(self, expression: ast.AST, given: set[str]) -> bool:
        for part in ast.walk(expression):
            name = self._dotted(part) if isinstance(part, ast.Name | ast.Attribute) else ""
            if name in given or (self.paths and name in _PLACES):
                return True
            if isinstance(part, ast.Constant) and part.value in self.reads:
                return True
        return False

    def _wrong(self, node: ast.AST, given: set[str]) -> Iterator[str]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for _, origin in _imported(node):
                top = origin.partition(".")[0]
                if top not in LIBRARIES and top != "fairfl" and top not in sys.stdlib_module_names:
                    yield f"imports {top}, which is none of the pinned libraries ({', '.join(sorted(LIBRARIES))})"
                elif _OUTSIDE.match(origin) or not (self.paths or top in _PURE | LIBRARIES | {"fairfl"}):
                    yield f"imports {origin}"
        elif isinstance(node, ast.Name | ast.Attribute) and node not in self.parts:
            name = self._dotted(node)
            last = name.rpartition(".")[2]
            ours = name.startswith(("fairfl.", "self.")) or (isinstance(node, ast.Name) and name == node.id != "open")
            reads = _READING.fullmatch(last) and not ours and (node in self.called or not last.endswith("File"))
            if _OUTSIDE.match(name):
                yield f"uses {name}"
            elif name == "getattr" and (asked := _asked(self.called.get(node))):
                yield f"asks for {asked} by name"
            elif reads and not self._mentions(self.called.get(node, node), given):
                yield f"calls {name.removeprefix('?.')}, which reads or writes a file"

    def _dotted(self, node: ast.expr) -> str:
        """'numpy.load' for np.load, '?.read_text' for a method of what no import names."""
        if isinstance(node, ast.Name):
            return self.origins.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            return f"{self._dotted(node.value)}.{node.attr}"
        return "?"


def _asked(call: ast.Call | None) -> str:
    """The name that `getattr` asks for, if that reads or writes a file."""
    names = [part.value for part in call.args[1:2] if isinstance(part, ast.Constant)] if call else []
    return next((name for name in names if isinstance(name, str) and _READING.fullmatch(name)), "")


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[ast.alias, str]]:
    """Each name with what it stands for."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield alias, alias.name
        else:
            yield alias, f"fairfl.{alias.name}" if node.level else f"{node.module}.{alias.name}"


def _own_nodes(scope: ast.AST, inner: list[ast.AST]) -> Iterator[ast.AST]:
    """All below a scope, without the functions in it, which are put into `inner`."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner.append(node)
        else:
            yield node
            yield from _own_nodes(node, inner)
