"""The project's files (package, papers, scales, configuration), as planning has read them and as jobs read them.

Planning keeps what it reads; `fairfl.workflow.snapshot` copies it, and the rest of the project, into one folder. Jobs
import the package from that copy and read the project's files there, so an edit in the meantime changes nothing.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from fairfl.runtime.errors import FairflError

VARIABLE = "FAIRFL_CODE"  # the copy that jobs import from: its absolute path
LOCK = ".lock"  # in the copy; a job that works from it holds a lock on this file
contents: dict[str, bytes] = {}  # absolute path -> content, when it was last read here
_copy: Path | None = None  # that this process works from


def read_bytes(path: Path | str) -> bytes:
    """Content of a file of the project, kept for the copy. Raises OSError."""
    data = contents[os.path.abspath(path)] = Path(path).read_bytes()
    return data


def work_from(copy: Path | None) -> None:
    """Let `in_copy` lead into this folder."""
    global _copy
    _copy = copy


def in_copy(path: Path) -> Path:
    """Return where a file of the project lies for this process; all other paths stay as they are."""
    sealed = _copy / path if _copy else path
    return sealed if sealed.is_file() else path


def written_to(copy: Path, files: Iterable[str]) -> list[str]:
    """Files of a copy that were written to since it was made, even if they are as before. Raises OSError."""
    lock = copy / LOCK
    since = lock.stat().st_ctime_ns if lock.exists() else 0
    return [file for file in files if (copy / file).stat().st_ctime_ns > since]


def check(files: Iterable[str]) -> None:
    """Raises FairflError if one of these files was written to since the copy that this process works from was made."""
    if _copy and (changed := written_to(_copy, files)):
        what = "was written to since this copy was made, jobs may have run it"
        raise FairflError(f"{changed[0]}: {what}; run the same command again")


def as_in_project(message: str) -> str:
    """A message that names files of the project as the user knows them."""
    return message.replace(f"{_copy}{os.sep}", "") if _copy else message
