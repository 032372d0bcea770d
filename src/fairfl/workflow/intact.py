"""Which files were found intact, so that planning reads each once: as git's index, by size, time and inode."""

import contextlib
import json
import os
from pathlib import Path

from fairfl.runtime import atomic

NAME = ".intact.json"  # in a folder of results


class Intact:
    """Of all folders of results: path -> [time of the last change (ns), inode, checksum] when it was last read."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, list]] = {}
        self._changed: set[str] = set()

    def check(self, results: str, path: str, state: os.stat_result, expected: str) -> bool:
        """True if the file was found intact in this state. If it has another one it is noted, as if it were intact:
        call `forget` if it is not.
        """
        seen = self._of(results)
        now = [state.st_ctime_ns, state.st_ino, expected]  # nobody can set the time of change
        if seen.get(path) == now:
            return True
        seen[path] = now
        self._changed.add(results)
        return False

    def forget(self, results: str, path: str) -> None:
        self._of(results).pop(path, None)
        self._changed.add(results)

    def save(self) -> None:
        """For the next call; where nothing can be written that one reads the files again."""
        for results in self._changed:
            if os.path.isdir(results):
                with contextlib.suppress(OSError):
                    atomic.write_text(os.path.join(results, NAME), json.dumps(self._seen[results]))
        self._changed.clear()

    def _of(self, results: str) -> dict[str, list]:
        if results not in self._seen:
            try:
                self._seen[results] = dict(json.loads(Path(results, NAME).read_bytes()))
            except (OSError, ValueError, TypeError):
                self._seen[results] = {}
        return self._seen[results]
