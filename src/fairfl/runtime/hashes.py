"""Checksums of files that planning asks for again and again: each file is read once, and again after a change.

Known as git's index knows files: by time of change, which cannot be set, inode and size.
"""

import hashlib
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from fairfl.runtime import notes

MEMORY = Path("results/.sha256.json")  # of files that no job has left
OUTPUTS = Path("results/.intact.json")  # of those that jobs have left
SETTLED_NS = 10**9  # of two changes within one tick of the clock the second one cannot be seen


class Index:
    """Checksums that `read` makes of files, kept in a JSON file for the next plan: path -> [time of change (ns), inode,
    bytes, checksum]."""

    def __init__(self, file: Path, read: Callable[[str], str]) -> None:
        self._file, self._read, self._changed = file, read, False
        self._seen = notes.read(file)

    def checksum(self, path: str) -> str:
        """The checksum of a file as it is now. Raises OSError."""
        now, state = time.time_ns(), os.stat(path)
        mark, entry = [state.st_ctime_ns, state.st_ino, state.st_size], self._seen.get(path)
        if isinstance(entry, list) and entry[:-1] == mark:
            return str(entry[-1])
        checksum = self._read(path)
        if now - state.st_ctime_ns > SETTLED_NS:
            self._seen[path], self._changed = [*mark, checksum], True
        return checksum

    def save(self) -> None:
        """Write for the next call."""
        if self._changed and self._file.parent.is_dir():
            notes.write(self._file, self._seen)
        self._changed = False


def sha256(path: Path) -> str:
    """In hex. Raises OSError."""
    digest = _index().checksum(os.path.abspath(path))
    _index().save()
    return digest


def read(path: Path | str, algorithm: Any = "sha256") -> str:
    """Digest of a file of any size, read piece by piece, in hex. Raises OSError."""
    with open(path, "rb", buffering=0) as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


@cache
def _index() -> Index:
    return Index(MEMORY, read)
