"""Files, processes and sockets that a plug-in uses, seen while it does (PEP 578), also through a library.

A plug-in computes with its arguments and its own code: what it reads elsewhere is in no spec, so a change there would
go unnoticed. Python's own files, those of libraries, and what an import reads are let pass. Variables of the
environment are seen where the plug-in itself reads them. Not seen are files that code other than Python opens (Arrow's
C++ for instance), and the question whether a file exists.
"""

import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from fairfl.runtime.errors import PluginError
from fairfl.runtime.hooks import PACKAGE, place

_PLUGINS = re.compile(
    r"(algorithms|data|metrics|models|modifiers|partition)/(?!(__init__|interface|registry|download|pretrained|prepared"
    r"|partition_file|checks|formats/\w+)\.py$)"
)
_FILES = {
    "open": "opens", "os.listdir": "lists", "os.scandir": "lists", "os.remove": "removes", "os.rmdir": "removes",
    "os.rename": "renames", "os.mkdir": "makes", "os.truncate": "writes", "os.link": "links", "os.symlink": "links",
    "os.chmod": "changes", "os.chown": "changes", "os.utime": "changes", "os.chdir": "goes to",
    "sqlite3.connect": "opens", "fairfl.variable": "reads the environment variable",
}  # fmt: skip
_STARTS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "socket.",
)
_OURS = tuple(
    os.path.join(os.path.realpath(folder), "")
    for folder in (
        sys.prefix,
        sys.base_prefix,
        sysconfig.get_path("stdlib"),
        "/proc",
        "/sys",
        "/dev",
        "/usr/share/zoneinfo",
    )
)

_installed = False
_folders: tuple[str, ...] | None = (
    None  # that data sets and models may read; None: nobody is watched
)
_fault: PluginError | None = None  # the first, should the plug-in catch it


def begin(folders: Iterable[Path | str]) -> None:
    """Watch plug-ins until `end`. Data sets and models may read below `folders`, whose files the plan knows."""
    global _installed, _folders, _fault
    _folders, _fault = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders), None
    if not _installed:
        sys.addaudithook(_hear)
        os._Environ.__getitem__ = _variable  # type: ignore[method-assign]
        _installed = True


def check() -> None:
    """Raises PluginError if a plug-in did what it may not, though it has caught the error."""
    if _fault:
        raise _fault


def end() -> None:
    """Watch no longer."""
    global _folders
    _folders = None


_value = os._Environ.__getitem__


def _variable(environment: Any, name: Any) -> Any:
    """A variable of the environment; Python itself says nothing of it to an audit hook."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__") in (
        "os",
        "collections.abc",
    ):  # os.getenv, `in`, items()
        frame = frame.f_back
    if frame.f_code.co_filename.startswith(str(PACKAGE)):
        sys.audit("fairfl.variable", name)
    return _value(environment, name)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _folders is None or not (event in _FILES or event.startswith(_STARTS)):
        return
    frame = _plugin(sys._getframe(1))
    if frame is None or (event in _FILES and _may_use(frame, event, arguments)):
        return
    global _fault
    what = (
        f"{_FILES[event]} {arguments[0]}"
        if event in _FILES
        else f"starts a process or socket ({event})"
    )
    fault = PluginError(
        f"{place(frame.f_code, frame.f_lineno)}: {what}: no change there would be noticed; "
        'name files beside the module, READS = ("beside.json",), all else must come by argument'
    )
    _fault = _fault or fault
    raise fault


def _plugin(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the package if it is a plug-in's, and nothing is being imported further in."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib"):
            return None
        if file.startswith(str(PACKAGE)) and file != __file__:
            return frame if _PLUGINS.match(file[len(str(PACKAGE)) + 1 :]) else None
        frame = frame.f_back
    return None


def _may_use(frame: FrameType, event: str, arguments: tuple[Any, ...]) -> bool:
    path = arguments[0]
    if not isinstance(path, str | bytes | os.PathLike):  # a file that is open already
        return True
    file = os.path.realpath(os.fsdecode(path))
    _, mode, flags = arguments if event == "open" else (path, "r", 0)
    writes = (
        set("wax+") & set(mode)
        if isinstance(mode, str)
        else flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    )
    if writes or event not in ("open", "os.listdir", "os.scandir"):
        return file == os.devnull
    own = Path(frame.f_code.co_filename)
    beside = [str(own.with_name(str(name))) for name in frame.f_globals.get("READS", ())]
    may_read = (
        _folders or ()
        if own.is_relative_to(PACKAGE / "data") or own.is_relative_to(PACKAGE / "models")
        else ()
    )
    source = file.startswith(str(PACKAGE)) and file.endswith((".py", ".pyc"))
    return (
        source
        or file in map(os.path.realpath, beside)
        or f"{file}/".startswith((*_OURS, *may_read))
    )
