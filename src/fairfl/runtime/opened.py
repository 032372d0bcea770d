"""Files that this process opens and what it starts (PEP 578), compared with what its job was planned with.

A job computes from its spec and its inputs: what it reads elsewhere is in no record, so a change there would go
unnoticed. Let pass are its inputs, the code and files that its spec has hashes of, the interpreter and its libraries,
installed fonts, and what the process has made itself. Not seen are files that code other than Python opens (Arrow's
C++ for instance), variables of the environment, the clock, the machine, and the question whether a file exists or how
large it is.
"""

import contextlib
import os
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

from fairfl.runtime import sealed
from fairfl.runtime.errors import PluginError

PACKAGE = Path(__file__).resolve().parents[1]  # as what is opened is named
_FILES = {
    "open", "os.listdir", "os.mkdir", "os.scandir", "os.rename", "os.link", "os.symlink", "os.getxattr",
    "sqlite3.connect",
}  # fmt: skip
_STARTS = (
    "subprocess.",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_",
    "os.spawn",
    "socket.c",
    "socket.g",
)

_MACHINE = "/proc", "/sys", os.devnull  # what these tell, and the programs, is of the machine
_PROGRAMS = {"lscpu", "uname", "fc-list"}  # that libraries start
_HOW = 'name files beside a module in a separate line, READS = ("beside.json",); else a spec must have what it says'

# Which no spec has hashes of, and what these import.
_PLUMBING = f"{PACKAGE}/runtime/", f"{PACKAGE}/recorded/", f"{PACKAGE}/values/"

_heard: set[str] = set()  # real paths, and what was started
_made: set[str] = set()  # what was not there before this process
_libraries: tuple[str, ...] = ()
_listening = False
preloaded: set[str] = set()  # modules of fairfl that the start server has imported for any job
_put_away: list[Any] = []


def begin(code: Collection[str] | None) -> None:
    """Listen from now on; `code` as in `check`. What is preloaded and not planned is as if it had not been imported."""
    global _libraries, _listening
    for name in preloaded.difference(preloaded if code is None else code):
        _put_away.append(sys.modules.pop(name, None))
        package, _, module = name.rpartition(".")
        if package in sys.modules:
            vars(sys.modules[package]).pop(module, None)
    if not _libraries:
        sys.addaudithook(_hear)
    paths = *sysconfig.get_paths().values(), *sys.path, "/usr/share/zoneinfo", *_MACHINE
    _libraries = tuple(
        f"{path}/" for path in map(os.path.realpath, paths) if not PACKAGE.is_relative_to(path)
    )
    _heard.clear()
    _listening = True


def end() -> None:
    """Listen no longer."""
    global _listening
    _listening = False
    _heard.clear()


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
        if str(arguments[0] if arguments else "") not in _PROGRAMS:
            _heard.add(f"{event}{arguments[:2]}")
    elif event in _FILES and not isinstance(arguments[0], int):  # else it is open already
        path = os.path.realpath(os.fsdecode(arguments[0] or "."))
        # A folder by tempfile, which is opened for writing; one that mkdir finds already there.
        named_only = event == "os.mkdir" or event == "open" and arguments[1] and os.path.isdir(path)
        if not os.path.lexists(path):
            _made.add(path)
        elif path not in _made and not named_only:
            _heard.add(path)


def check(inputs: Iterable[Path | str], code: Iterable[str] | None) -> None:
    """Raises PluginError if the process ran a module, opened a file or started what its job was not planned with.

    `inputs` are the files that the job was given, `code` the modules, and files that go with them, that its spec has
    hashes of. None: any of the package.

    Raises FairflError if one of these was written to since the copy of the project was made.
    """
    planned = set(map(_path, code or ()))
    sealed.check(planned)
    libraries = *_libraries, *(f"{os.path.realpath(path)}/" for path in _drawing())
    ran = {_path(name) for name in list(sys.modules) if f"{name}.".startswith("fairfl.")}
    unplanned = {*map(_source, _heard), *ran}.difference(planned, map(os.path.realpath, inputs))
    for used in sorted(unplanned) if _heard else ():
        ours = used.startswith(f"{PACKAGE}/")
        plumbing = code is None or os.path.isdir(used) or used.startswith(_PLUMBING)
        if (ours and plumbing) or f"{used}/".startswith(libraries):
            continue
        if not used.startswith("/"):
            raise PluginError(f"{used}: this job starts it, and no change there would be noticed")
        name = used.removeprefix(f"{PACKAGE.parents[1]}/")
        module = name[4:-3].replace("/", ".")  # without src/ and .py
        how = f"write `import {module}`" if ours and used.endswith(".py") else _HOW
        raise PluginError(f"{name}: this job reads it, and no change there would be noticed; {how}")


def _drawing() -> Iterator[str]:
    """Files and folders that matplotlib reads, which a plug-in may import: its list of fonts, its settings, fonts."""
    if fonts := sys.modules.get("matplotlib.font_manager"):
        path = f"{fonts.mpl.get_cachedir()}/fontlist-v{fonts.FontManager.__version__}.json"
        yield from (path, f"{path}.matplotlib-lock", fonts.mpl.matplotlib_fname())
        yield from (*fonts.X11FontDirectories, *(font.fname for font in fonts.fontManager.ttflist))


def _path(name: str) -> str:
    """File of a module, or the file itself: fairfl.algorithms.qffl, fairfl/reporting/page/page.css."""
    if "/" in name:
        return str(PACKAGE.parent / name)
    base = PACKAGE.parent / name.replace(".", "/")
    return str(base / "__init__.py" if base.is_dir() else base.with_suffix(".py"))


def _source(path: str) -> str:
    """The module that bytecode is of."""
    with contextlib.suppress(ValueError):
        return source_from_cache(path)
    return path
