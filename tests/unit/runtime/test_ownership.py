"""Takeovers and the workflow lock, between real processes."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fairfl.runtime import atomic, ownership
from fairfl.runtime.errors import FairflError

START = """
import os, subprocess, sys
from pathlib import Path
from fairfl.runtime import atomic, cli, ownership
folder = Path(sys.argv[1])
lock, out = folder / "records" / "seed0.lock", folder / "out" / "q=1.0.json"
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

    def tell(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        """Exit code, what else it printed, its errors."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

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


@pytest.fixture
def lock(tmp_path):
    return tmp_path / "records" / "seed0.lock"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out" / "q=1.0.json"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# Stops with a temporary file, whose name it says.
HALFWAY = """
def main(argv):
    with ownership.owning(lock, [out]), atomic.replacing(out) as temp:
        temp.write_text("half")
        say(temp.name)
        wait()
cli.run(main)
"""


# -- one process ------------------------------------------------------------------------------------
def test_an_owner_writes_and_leaves_no_lock(lock, out):
    with ownership.owning(lock, [out]):
        assert names(lock.parent) == ["seed0.lock"]
        atomic.write_text(out, "a")
        atomic.write_text(out, "b")
    assert out.read_text() == "b" and names(out.parent) == [out.name] and names(lock.parent) == []


@pytest.mark.parametrize("content", ["", "{", "[]", "\ufffd", '{"token": 1}'])
def test_a_damaged_lock_file_is_taken_over_and_its_writer_owns_no_more(lock, out, content):
    with (
        pytest.raises(ownership.OwnershipLostError, match="taken over by pid unknown on host unknown"),
        ownership.owning(lock),
    ):
        lock.write_text(content)
        atomic.write_text(out, "a")
    assert not out.exists()
    with ownership.owning(lock):
        atomic.write_text(out, "b")
    assert out.read_text() == "b"


def test_only_temporary_files_of_the_named_files_are_swept(lock, out):
    out.parent.mkdir()
    left = [".q=1.0.json.123-0123abcd.tmp", ".checkpoint.pt.4-deadbeef.tmp"]
    others = [
        ".q=1.0.json.gz.123-0123abcd.tmp",  # another job's, alive
        ".json.123-0123abcd.tmp",
        "q=1.0.json.123-0123abcd.tmp",
        ".q=1.0.json.tmp",
        ".q=1.0.json.123-0123abcd.tmp.txt",
    ]
    for name in left + others:
        (out.parent / name).write_text("")
    with ownership.owning(lock, [out, out.with_name("checkpoint.pt"), Path("no/such/folder/x")]):
        assert names(out.parent) == sorted(others)


# -- two processes ----------------------------------------------------------------------------------


def test_a_killed_owner_is_taken_over_at_once_and_its_temporary_files_are_gone(start, lock, out):
    killed = start(HALFWAY)
    temporary = killed.hear()
    killed.kill()
    assert names(out.parent) == [temporary] and names(lock.parent) == ["seed0.lock"]
    with ownership.owning(lock, [out]):
        assert names(out.parent) == []
        atomic.write_text(out, "new")
    assert out.read_text() == "new" and names(lock.parent) == []


# -- the workflow lock ------------------------------------------------------------------------------
WORKFLOW = """
held = ownership.workflow_lock(folder / "quick" / ".lock")
say("locked")
wait()
"""


def test_a_job_of_an_earlier_workflow_is_refused(start, tmp_path, monkeypatch):
    lock = tmp_path / "quick" / ".lock"
    monkeypatch.delenv(ownership.WORKFLOW, raising=False)
    ownership.still_wanted(lock)
    ownership.workflow_lock(lock).close()
    ownership.still_wanted(lock)  # its own workflow, though that has ended
    other = start(WORKFLOW)
    assert other.hear() == "locked"
    with pytest.raises(FairflError, match=f"^{lock.parent}: .* another workflow has begun: pid {other.pid} on host"):
        ownership.still_wanted(lock)
    monkeypatch.delenv(ownership.WORKFLOW)  # where jobs do not inherit the environment nothing can be said
    ownership.still_wanted(lock)


def test_a_killed_workflow_and_what_survives_it_hold_nothing(start, tmp_path):
    """Neither a started program nor a forked child inherits the lock."""
    first = start("""
    held = ownership.workflow_lock(folder / "quick" / ".lock")
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
            ownership.workflow_lock(tmp_path / "quick" / ".lock")
        first.kill()
        for pid in children:
            os.kill(pid, 0)  # alive
        ownership.workflow_lock(tmp_path / "quick" / ".lock").close()
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
