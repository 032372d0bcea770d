"""Takeovers and the workflow lock, between real processes."""

import errno
import fcntl
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


ORPHAN = """
def main(argv):
    with ownership.owning(lock, [out]):
        atomic.write_text(out, "from the orphan")
        say("owns")
        wait()
        atomic.write_text(out, "late")
cli.run(main)
"""
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


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_no_lock(lock, error):
    with pytest.raises(error), ownership.owning(lock):
        raise error
    assert names(lock.parent) == []


def test_afterwards_writing_is_free_again(lock, out):
    with ownership.owning(lock):
        pass
    atomic.write_text(out, "a")
    assert out.read_text() == "a"


@pytest.mark.parametrize("content", ["", "{", "[]", "\ufffd", '{"token": 1}'])
def test_a_damaged_lock_file_is_taken_over_and_its_writer_owns_no_more(lock, out, content):
    with pytest.raises(ownership.Taken, match="taken over by pid unknown on host unknown"), ownership.owning(lock):
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


def test_the_fence_stands_around_sweeping_replacing_and_deleting(lock, out, monkeypatch):
    """Whoever wants to take over waits that long."""
    seen = []

    def locked(action):
        def checked(*arguments, **options):
            with open(lock, "r+b") as file, pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            seen.append(action.__name__)
            return action(*arguments, **options)

        return checked

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "sweep", locked(atomic.sweep))
        patch.setattr(os, "replace", locked(os.replace))
        with ownership.owning(lock):
            atomic.write_text(out, "a")
            patch.setattr(Path, "unlink", locked(Path.unlink))
            atomic.remove(out)
    assert seen == ["sweep", "replace", "unlink", "unlink"]  # the last one is the lock's own


@pytest.fixture
def meanwhile(monkeypatch):
    """Something that others do after the next lock file is opened and before it is locked."""
    flock, waiting = fcntl.flock, []

    def late(file, how):
        if waiting:
            waiting.pop()()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    return waiting.append


def test_a_lock_file_that_its_owner_removes_meanwhile_is_made_anew(lock, out, meanwhile):
    lock.parent.mkdir()
    lock.write_text("{}")
    meanwhile(lock.unlink)
    with ownership.owning(lock):
        atomic.write_text(out, "a")
    assert out.read_text() == "a" and names(lock.parent) == []


def test_a_lock_file_that_is_another_one_meanwhile_is_the_other_owners(lock, out, meanwhile):
    def anew():
        lock.unlink()
        lock.write_text('{"token": "another", "pid": 7}')

    with pytest.raises(ownership.Taken, match="taken over by pid 7 "), ownership.owning(lock):
        meanwhile(anew)
        atomic.write_text(out, "a")
    assert names(out.parent) == [] and names(lock.parent) == ["seed0.lock"]


def test_a_folder_that_cannot_be_written_is_an_ordinary_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError) as caught, ownership.owning(tmp_path / "file" / "records" / "seed0.lock"):
        pass
    assert str(caught.value.filename).startswith(str(tmp_path / "file"))


def test_without_the_folder_the_old_owner_says_so(tmp_path, lock, out):
    gone = r"or its folder was deleted \(seed0.lock is gone\)"
    with pytest.raises(ownership.Taken, match=gone), ownership.owning(lock):
        lock.unlink()
        lock.parent.rmdir()
        atomic.write_text(out, "a")
    assert names(out.parent) == []


# -- two processes ----------------------------------------------------------------------------------
def test_an_orphan_writes_nothing_after_a_takeover(start, lock, out):
    orphan = start(ORPHAN)
    assert orphan.hear() == "owns"
    with ownership.owning(lock, [out]):
        atomic.write_text(out, "new")
        orphan.tell()
        code, _, err = orphan.end()
        assert out.read_text() == "new" and names(out.parent) == [out.name]
        assert names(lock.parent) == ["seed0.lock"]  # the orphan does not remove what is no longer its own
        atomic.write_text(out, "newer")
    job, host = lock.with_suffix(""), os.uname().nodename
    assert code == 1 and err.count("\n") == 1
    assert err.startswith(f"error: {job}: taken over by pid {os.getpid()} on host {host} since 2")
    assert err.endswith(f"process {orphan.pid} wrote nothing and stops\n")
    assert out.read_text() == "newer" and names(lock.parent) == []


def test_an_orphan_writes_nothing_after_its_successor_has_ended(start, lock, out):
    orphan = start(ORPHAN)
    orphan.hear()
    with ownership.owning(lock, [out]):
        atomic.write_text(out, "new")
    orphan.tell()
    code, _, err = orphan.end()
    assert code == 1 and err.startswith(f"error: {lock.with_suffix('')}: another process took this job over and has")
    assert out.read_text() == "new" and names(out.parent) == [out.name] and names(lock.parent) == []


def test_an_orphan_whose_temporary_file_was_swept_says_who_took_over(start, lock, out):
    orphan = start(HALFWAY)
    orphan.hear()
    with ownership.owning(lock, [out]):
        assert names(out.parent) == []
        orphan.tell()
        code, _, err = orphan.end()
    assert code == 1 and f"taken over by pid {os.getpid()} " in err and err.count("\n") == 1


def test_a_killed_owner_is_taken_over_at_once_and_its_temporary_files_are_gone(start, lock, out):
    killed = start(HALFWAY)
    temporary = killed.hear()
    killed.kill()
    assert names(out.parent) == [temporary] and names(lock.parent) == ["seed0.lock"]
    with ownership.owning(lock, [out]):
        assert names(out.parent) == []
        atomic.write_text(out, "new")
    assert out.read_text() == "new" and names(lock.parent) == []


def test_an_owner_that_is_asked_to_end_leaves_nothing(start, lock, out):
    asked = start(HALFWAY)
    asked.hear()
    asked.process.send_signal(signal.SIGTERM)
    assert asked.end()[0] == 143
    assert names(out.parent) == [] and names(lock.parent) == []


# Takes over, writes three times and leaves, again and again. Inside the fence it reads a number and writes the next.
LOOP = """
counter, marker, rename = folder / "counter", folder / "marker", os.replace
def inside(*paths):
    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    number = int(counter.read_text())
    rename(*paths)
    counter.write_text(str(number + 1))
    os.unlink(marker)
os.replace = inside
os.fsync = lambda handle: None
written = lost = 0
say("ready")
wait()
for turn in range(300):
    try:
        with ownership.owning(lock, [out]):
            for _ in range(3):
                atomic.write_text(out, f"{os.getpid()} {turn}")
                written += 1
    except ownership.Taken:
        lost += 1
say(written, lost)
"""


@pytest.mark.slow
def test_two_that_take_over_from_each_other_are_never_both_inside_the_fence(start, tmp_path, out):
    (tmp_path / "counter").write_text("0")
    both = [start(LOOP) for _ in range(2)]
    assert [each.hear() for each in both] == ["ready"] * 2
    for each in both:
        each.tell()
    ends = [each.end() for each in both]
    assert [(code, err) for code, _, err in ends] == [(0, "")] * 2
    written, lost = zip(*(map(int, said.split()) for _, said, _ in ends), strict=True)
    assert int((tmp_path / "counter").read_text()) == sum(written)
    assert sum(lost) > 0  # they did meet
    assert names(out.parent) == [out.name] and names(tmp_path / "records") == []


# -- file systems without locks ---------------------------------------------------------------------
@pytest.fixture(params=["ENOLCK", "ENOSYS", "EOPNOTSUPP", "ENOTSUP"])
def without_locks(request, monkeypatch):
    def refuse(file, how):
        raise OSError(getattr(errno, request.param), request.param)

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_without_locks_the_token_still_tells(without_locks, lock, out):
    with ownership.owning(lock, [out]):
        atomic.write_text(out, "a")
    assert out.read_text() == "a" and names(lock.parent) == []
    with pytest.raises(ownership.Taken), ownership.owning(lock):
        with ownership.owning(lock):
            atomic.write_text(out, "b")
        atomic.write_text(out, "c")
    assert out.read_text() == "b"


def test_without_locks_a_workflow_is_warned(without_locks, tmp_path, capsys):
    with ownership.workflow_lock(tmp_path / ".lock"):
        assert capsys.readouterr().err == (
            f"warning: {tmp_path}: this file system has no locks; "
            "take care that no other workflow runs in this folder\n"
        )


def test_other_errors_of_a_lock_are_not_hidden(monkeypatch, lock):
    def fail(file, how):
        raise OSError(errno.EIO, "I/O")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(OSError, match="I/O"), ownership.owning(lock):
        pass


# -- the workflow lock ------------------------------------------------------------------------------
WORKFLOW = """
held = ownership.workflow_lock(folder / "quick" / ".lock")
say("locked")
wait()
"""


def test_a_second_workflow_is_refused_and_told_by_whom(start, tmp_path):
    first = start(WORKFLOW)
    assert first.hear() == "locked"
    with pytest.raises(FairflError) as caught:
        ownership.workflow_lock(tmp_path / "quick" / ".lock")
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'quick'}: another workflow runs in this folder: pid {first.pid} on host ")
    assert message.endswith(f"wait for it or stop it (kill {first.pid})") and "\n" not in message
    first.tell()
    assert first.end()[0] == 0
    ownership.workflow_lock(tmp_path / "quick" / ".lock").close()


def test_other_folders_are_not_locked(start, tmp_path):
    start(WORKFLOW).hear()
    ownership.workflow_lock(tmp_path / "small" / ".lock").close()


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


def test_a_lock_that_nobody_refers_to_is_held(start, tmp_path):
    start(WORKFLOW.replace("held = ", "")).hear()
    with pytest.raises(FairflError, match="another workflow"):
        ownership.workflow_lock(tmp_path / "quick" / ".lock")
