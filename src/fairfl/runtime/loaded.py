"""What this process has read: sources of modules, as they were when they were imported, and files of the project.

A file may be edited while jobs run, and taken back before they end. So a job does not compare what is on disk with the
spec that it was planned with, but what it has loaded. `install` lets imports of this package note that; bytecode is
used if it was compiled from the very same source (PEP 552), whatever the times of the files.
"""

import hashlib
import json
import marshal
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from fairfl.runtime.errors import FairflError

PACKAGE = "fairfl"
SOURCE = Path(__file__).resolve().parents[2]
_CHECKED = (3).to_bytes(4, "little")  # the flags of bytecode that is valid for one source

_began = time.time_ns()  # this process, or the one that it is a copy of
modules: dict[str, str] = {}  # imported here -> hash of its source
files: dict[str, str] = {}  # read here, by absolute path -> hash


def hashed(data: bytes) -> str:
    """First 16 hex digits of the sha256."""
    return hashlib.sha256(data).hexdigest()[:16]


def read_bytes(path: Path | str) -> bytes:
    """Content of a file of the project, noted. Raises OSError."""
    data = Path(path).read_bytes()
    files[os.path.abspath(path)] = hashed(data)
    return data


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType | None:
        source = self.get_data(self.path)
        modules[self.name] = hashed(source)
        head = MAGIC_NUMBER + _CHECKED + source_hash(source)
        bytecode = cache_from_source(self.path)
        with suppress(OSError, ValueError, EOFError, TypeError):
            data = self.get_data(bytecode)
            if data.startswith(head):
                return marshal.loads(data[len(head) :])
        code = self.source_to_code(source, self.path)
        if not sys.dont_write_bytecode:
            self.set_data(bytecode, head + marshal.dumps(code))  # a folder that cannot be written is no error
        return code


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith(f"{PACKAGE}."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """Note what is imported of this package from now on."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


@cache
def _planned(sources: Path) -> dict[str, dict[str, str]]:
    """What `snapshot` has left. Raises OSError if that is missing."""
    return json.loads(sources.read_bytes())


def snapshot(module_hashes: Mapping[str, str], reads: Mapping[str, Sequence[Path]]) -> str:
    """What jobs are planned with, as JSON: hashes of modules' sources, and of the files that this process has read.

    `reads` are the files beside modules that these read.
    """
    beside = {module: list(map(os.path.abspath, paths)) for module, paths in reads.items()}
    return json.dumps({"modules": dict(module_hashes), "files": files, "reads": beside})


def check(spec: Mapping[str, Any], sources: Path | None) -> None:
    """Hold what this process has loaded against what its job was planned with; without `sources` against nothing.

    Raises FairflError that names the first file that is another one.
    """
    if sources is None:
        return
    planned = _planned(sources)
    for module in spec.get("code", {}):
        if module in modules and modules[module] != planned["modules"].get(module):
            _refuse(str(SOURCE.joinpath(*module.split(".")).with_suffix(".py")))
        for path in planned["reads"].get(module, ()):  # nobody knows when it reads them
            if not _unchanged(path) or hashed(Path(path).read_bytes()) != planned["files"][path]:
                _refuse(path)
    for path, found in files.items():
        if found != planned["files"].get(path, found):
            _refuse(path)
    for path, wanted in spec.get("reported", {}).items():
        if hashed(Path(path).read_bytes()) != wanted:
            _refuse(path)


def _unchanged(path: str) -> bool:
    """Since this process began: a file that was put back has a later time of change, which nobody can set."""
    return os.path.exists(path) and os.stat(path).st_ctime_ns < _began


def _refuse(path: str) -> None:
    raise FairflError(
        f"{os.path.relpath(path)} changed while it ran: its result is not used; run the same command again"
    )
