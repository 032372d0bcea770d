"""The workflow lock, between real processes."""

import os
import signal
import subprocess
import sys

import pytest

from fairfl.runtime import locks
from fairfl.runtime.errors import FairflError

# A workflow; neither the program that it starts nor the child that it forks inherits its lock.
WORKFLOW = """
import os, subprocess, sys, time
from pathlib import Path
from fairfl.runtime import locks
held = locks.workflow_lock(Path(sys.argv[1]))
started = subprocess.Popen(["sleep", "60"], close_fds=False)
reader, writer = os.pipe()
if not (forked := os.fork()):
    os.write(writer, b"+")
    time.sleep(60)
    os._exit(0)
os.read(reader, 1)
print(started.pid, forked, flush=True)
os.waitpid(started.pid, 0)
"""


def test_a_job_of_an_earlier_workflow_is_refused_and_what_survives_a_killed_one_holds_nothing(tmp_path, monkeypatch):
    lock = tmp_path / "quick" / ".lock"
    monkeypatch.delenv(locks.WORKFLOW, raising=False)
    locks.still_wanted(lock)
    locks.workflow_lock(lock).close()
    locks.still_wanted(lock)  # its own workflow, though that has ended
    other = subprocess.Popen([sys.executable, "-c", WORKFLOW, str(lock)], stdout=subprocess.PIPE, text=True)
    children = [int(pid) for pid in other.stdout.readline().split()]
    refused = f"^{lock.parent}: .* another workflow has begun: pid {other.pid} on host"
    try:
        with pytest.raises(FairflError, match=refused):
            locks.still_wanted(lock)
        with pytest.raises(FairflError, match=f"pid {other.pid} "):
            locks.workflow_lock(lock)
        monkeypatch.delenv(locks.WORKFLOW)  # where jobs do not inherit the environment nothing can be said
        locks.still_wanted(lock)
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        for pid in children:
            os.kill(pid, 0)  # alive
        locks.workflow_lock(lock).close()
    finally:
        for pid in (other.pid, *children):
            os.kill(pid, signal.SIGKILL)
        other.communicate()
