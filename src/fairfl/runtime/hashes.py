"""Checksums of files that planning asks for again and again: each file is read once, and again after a change.

Known as git's index knows files: by time of change, which cannot be set, inode and size.
"""

import contextlib
import hashlib
import json
import os
import time
from functools import cache
from pathlib import Path

from fairfl.runtime import atomic

MEMORY = Path("results/.sha256.json")  # of files that no job has left
INTACT = Path("results/.intact.json")  # of files that are as their jobs left them
SETTLED_NS = 10**9  # of two changes within one tick of the clock the second one cannot be seen


class Index:
    """Checksums, kept in a JSON file for the next plan: path -> [time of change (ns), inode, bytes, checksum]."""

    def __init__(self, file: Path) -> None:
        self._file, self._changed = file, False
        try:
            self._seen = dict(json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError):
            self._seen = {}

    def find(self, path: str, state: os.stat_result) -> str:
        """Return the checksum that was noted of the file in this state; "" if there is none."""
        entry = self._seen.get(path)
        return entry[-1] if isinstance(entry, list) and entry[:-1] == _mark(state) else ""

    def note(self, path: str, state: os.stat_result, checksum: str) -> None:
        self._seen[path], self._changed = [*_mark(state), checksum], True

    def has(self, path: str, state: os.stat_result, checksum: str) -> bool:
        """True if the file was found intact in this state. If not it is noted: call `forget` where it is not."""
        is_noted = self.find(path, state) == checksum
        if not is_noted:
            self.note(path, state, checksum)
        return is_noted

    def forget(self, path: str) -> None:
        self._seen.pop(path, None)
        self._changed = True

    def save(self) -> None:
        """Write for the next call; where nothing can be written that one reads the files again."""
        if self._changed and self._file.parent.is_dir():
            with contextlib.suppress(OSError):
                atomic.write_text(self._file, json.dumps(self._seen))
        self._changed = False


def sha256(path: Path) -> str:
    """In hex. Raises OSError."""
    key, now, state = os.path.abspath(path), time.time_ns(), path.stat()
    if checksum := _index().find(key, state):
        return checksum
    digest = _read(path)
    if now - state.st_ctime_ns > SETTLED_NS:
        _index().note(key, state, digest)
        _index().save()
    return digest


def _mark(state: os.stat_result) -> list[int]:
    return [state.st_ctime_ns, state.st_ino, state.st_size]


def _read(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@cache
def _index() -> Index:
    return Index(MEMORY)
