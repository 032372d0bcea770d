"""Processes: a module in a separate one; whatever a job forks ends with it, however that ends (Linux)."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

from fairfl.runtime.errors import FairflError

_PR_SET_PDEATHSIG = 1
_parents: list[int] = []  # of the fork that is under way; empty: nobody has asked


def end_together() -> None:
    """Let what this process forks from now on, and what that forks, be killed when its parent ends."""
    if sys.platform == "linux" and not _parents:
        _parents.append(os.getpid())
        libc = ctypes.CDLL(None)

        def bind() -> None:
            libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
            if os.getppid() != _parents[0]:  # it ended before it could take this process along
                os._exit(1)

        os.register_at_fork(
            before=lambda: _parents.__setitem__(0, os.getpid()), after_in_child=bind
        )


def run_module(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Output of a module of the package in a separate process. Raises FairflError with what it reports."""
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-P", "-m", module, *words],
        text=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    if done.returncode:
        raise FairflError((done.stderr.strip() or done.stdout.strip()).rpartition("error: ")[2])
    return done
