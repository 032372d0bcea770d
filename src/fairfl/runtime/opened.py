"""Files that this process opens and what it starts (PEP 578), held against what its job was planned with.

A job computes from its spec and its inputs: what it reads elsewhere is in no record, so a change there would go
unnoticed. Let pass are its inputs, the code and files that its spec has hashes of, the interpreter and its libraries,
and what the process has made itself. Not seen are files that code other than Python opens (Arrow's C++ for instance),
variables of the environment, the clock, and the question whether a file exists or how large it is.
"""

import contextlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from fairfl.runtime import sealed
from fairfl.runtime.errors import PluginError
from fairfl.runtime.hooks import PACKAGE, place_of

_FILES = {
    "open", "os.listdir", "os.scandir", "os.rename", "os.link", "os.symlink", "os.getxattr", "sqlite3.connect",
}  # fmt: skip
_STARTS = ("subprocess.", "os.system", "os.exec", "os.fork", "os.posix_", "os.spawn", "socket.c", "socket.g")

_heard: set[str] = set()  # real paths, and what was started
_made: set[str] = set()  # what was not there before this process
_libraries: tuple[str, ...] = ()
_listening = False


def begin() -> None:
    """Listen from now on."""
    global _libraries, _listening
    if not _libraries:
        sys.addaudithook(_hear)
    paths = *sysconfig.get_paths().values(), *sys.path, "/usr/share/zoneinfo"
    folders = map(Path.resolve, map(Path, paths))
    _libraries = tuple(f"{path}/" for path in folders if not PACKAGE.is_relative_to(path))
    _heard.clear()
    _listening = True


def end() -> None:
    """Listen no longer."""
    global _listening
    _listening = False


@contextlib.contextmanager
def by_fairfl() -> Iterator[None]:
    """Around what fairfl opens itself: its content is compared with a hash elsewhere, or changes no number."""
    global _listening
    before, _listening = _listening, False
    try:
        yield
    finally:
        _listening = before


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if not _listening:
        return
    if event.startswith(_STARTS):
        _heard.add(f"{event}{arguments[:2]}")
    elif event in _FILES and not isinstance(arguments[0], int):  # else it is open already
        path = os.path.realpath(os.fsdecode(arguments[0] or "."))
        named_only = event == "open" and arguments[1] and os.path.isdir(path)  # by tempfile
        if path not in _made and not named_only:
            (_heard if os.path.lexists(path) else _made).add(path)


def check(inputs: Iterable[Path | str], code: Iterable[str] | None) -> None:
    """Raises PluginError if the process ran a module, opened a file or started what its job was not planned with.

    `inputs` are the files that the job was given, `code` the modules, and files that go with them, that its spec has
    hashes of. None: any of the package.

    Raises FairflError if one of these was written to since the copy of the project was made.
    """
    files = {os.path.realpath(path) for path in inputs}
    planned = {path: cache_from_source(path) for path in map(_path, code or ())}
    sealed.check(planned)
    imported = {_path(name) for name in list(sys.modules) if f"{name}.".startswith("fairfl.")}
    for what in sorted(_heard | imported if _heard else ()):
        ours = what.startswith(f"{PACKAGE}/")
        plumbing = what.startswith(f"{PACKAGE}/runtime/") or code is None or os.path.isdir(what)
        known = what in files or what in planned or what in planned.values()
        if known or (ours and plumbing) or f"{what}/".startswith(_libraries):
            continue
        if not what.startswith(os.sep):
            raise PluginError(f"this job starts a process or connects to one ({what}): no change there would be noticed")
        if ours and what.endswith((".py", ".pyc")):
            how = "import it by its name, `from fairfl.algorithms import qffl`, not by a text"
        else:
            how = "name files beside a module in it, `READS = (\"beside.json\",)`, in one line; all else comes by argument"
        raise PluginError(f"{place_of(Path(what))}: this job reads it, and no change there would be noticed; {how}")


def _path(name: str) -> str:
    """File of a module, or the file itself: fairfl.algorithms.qffl, fairfl/reporting/page/page.css."""
    base = PACKAGE.parent.joinpath(*name.split("." if "/" not in name else "/"))
    if "/" in name:
        return str(base)
    return str(base / "__init__.py" if base.is_dir() else base.with_suffix(".py"))
