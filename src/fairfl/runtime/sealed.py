"""The project's files (package, papers, scales, configuration), as planning has read them and as jobs read them.

Planning keeps what it reads; `fairfl.workflow.snapshot` copies it, and the rest of the project, into one folder. Jobs
import the package from that copy and read the project's files there, so an edit in the meantime changes nothing.
"""

import os
from pathlib import Path

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
    """Where a file of the project lies for this process; all other paths stay as they are."""
    sealed = _copy / path if _copy else path
    return sealed if sealed.is_file() else path


def as_in_project(message: str) -> str:
    """A message that names files of the project as the user knows them."""
    return message.replace(f"{_copy}{os.sep}", "") if _copy else message
