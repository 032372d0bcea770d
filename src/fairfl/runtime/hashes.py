"""sha256 of files that may be large, for planning: each is read once, and again after a change.

Known as git's index knows files: by time of change, which nobody can set, inode and size.
"""

import contextlib
import hashlib
import json
import os
import time
from functools import cache
from pathlib import Path
from typing import Any

from fairfl.runtime import atomic

MEMORY = Path("results/.sha256.json")  # for the next plan: path -> [time of change (ns), inode, bytes, sha256]
SETTLED_NS = 10**9  # of two changes within one tick of the clock the second one cannot be seen


def sha256(path: Path) -> str:
    """In hex. Raises OSError."""
    key, now, state = os.path.abspath(path), time.time_ns(), path.stat()
    mark = [state.st_ctime_ns, state.st_ino, state.st_size]
    match _known().get(key):
        case [*seen, str(digest)] if seen == mark:
            return digest
    digest = _read(path)
    if now - state.st_ctime_ns > SETTLED_NS:
        _known()[key] = [*mark, digest]
        if MEMORY.parent.is_dir():
            with contextlib.suppress(OSError):  # where nothing can be written, the next plan reads it again
                atomic.write_text(MEMORY, json.dumps(_known()))
    return digest


def _read(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@cache
def _known() -> dict[str, Any]:
    try:
        return dict(json.loads(MEMORY.read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}
