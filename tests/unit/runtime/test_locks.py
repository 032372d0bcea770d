"""The workflow lock, between real processes."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from fairfl.runtime import locks
from fairfl.runtime.errors import FairflError

START = """
import os, subprocess, sys
from pathlib import Path
from fairfl.runtime import locks
folder = Path(sys.argv[1])
def say(*words):
    print(*words, flush=True)
def wait():
    sys.stdin.readline()
"""


class Process:
    """A process of its own that runs some code and speaks line by line."""

    def __init__(self, folder, code, *arguments):
        program = START + textwrap.dedent(code)
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(folder), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid

    def hear(self):
        return self.process.stdout.readline().strip()

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def start(tmp_path):
    running = []

    def process(code, *arguments):
        running.append(Process(tmp_path, code, *arguments))
        return running[-1]

    yield process
    for each in running:
        each.process.kill()
        each.process.communicate()


# -- the workflow lock ------------------------------------------------------------------------------
WORKFLOW = """
held = locks.workflow_lock(folder / "quick" / ".lock")
say("locked")
wait()
"""


def test_a_job_of_an_earlier_workflow_is_refused(start, tmp_path, monkeypatch):
    lock = tmp_path / "quick" / ".lock"
    monkeypatch.delenv(locks.WORKFLOW, raising=False)
    locks.still_wanted(lock)
    locks.workflow_lock(lock).close()
    locks.still_wanted(lock)  # its own workflow, though that has ended
    other = start(WORKFLOW)
    assert other.hear() == "locked"
    with pytest.raises(FairflError, match=f"^{lock.parent}: .* another workflow has begun: pid {other.pid} on host"):
        locks.still_wanted(lock)
    monkeypatch.delenv(locks.WORKFLOW)  # where jobs do not inherit the environment nothing can be said
    locks.still_wanted(lock)


def test_a_killed_workflow_and_what_survives_it_hold_nothing(start, tmp_path):
    """Neither a started program nor a forked child inherits the lock."""
    first = start("""
    held = locks.workflow_lock(folder / "quick" / ".lock")
    started = subprocess.Popen(["sleep", "60"], close_fds=False)
    reader, writer = os.pipe()
    if not (forked := os.fork()):
        os.write(writer, b"+")
        wait()
    os.read(reader, 1)
    say(started.pid, forked)
    os.waitpid(started.pid, 0)
    """)
    children = [int(pid) for pid in first.hear().split()]
    try:
        with pytest.raises(FairflError, match=f"pid {first.pid} "):
            locks.workflow_lock(tmp_path / "quick" / ".lock")
        first.kill()
        for pid in children:
            os.kill(pid, 0)  # alive
        locks.workflow_lock(tmp_path / "quick" / ".lock").close()
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
