"""The choice of a GPU, on a machine whose GPUs are made up: real processes, real locks, no CUDA."""

import os
import re
import select
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fairfl.runtime import cluster, gpu_slots
from fairfl.runtime.errors import FairflError

# A job: takes a GPU, says what CUDA would see, computes until it is told to end.
JOB = """
import os, sys
from pathlib import Path
from fairfl.runtime import cli, gpu_slots
gpu_slots.NODES = Path({nodes!r})
gpu_slots.MIG, gpu_slots.TOOL = gpu_slots.NODES, "no tool"
def main(argv):
    gpu_slots.take(alone="alone" in sys.argv)
    print("sees", os.environ.get("CUDA_VISIBLE_DEVICES"), flush=True)
    {rest}
    sys.stdin.read()
cli.run(main)
"""


@pytest.fixture
def nodes(tmp_path):
    """The folder of device nodes; empty."""
    (tmp_path / "dev").mkdir()
    return tmp_path / "dev"


@pytest.fixture
def locks(tmp_path):
    """The folder in which the one with the locks is made."""
    (tmp_path / "locks").mkdir()
    return tmp_path / "locks"


@pytest.fixture(autouse=True)
def bare(monkeypatch, nodes, locks):
    """No GPU, none chosen, no cluster job, and locks of this test's own."""
    for name in (gpu_slots.VISIBLE, gpu_slots.LIMIT, *cluster.VARIABLES):
        monkeypatch.setenv(name, "")  # so that what a test sets is undone
        monkeypatch.delenv(name)
    monkeypatch.setenv("TMPDIR", str(locks))
    monkeypatch.setattr(gpu_slots.tempfile, "tempdir", None)
    monkeypatch.setattr(gpu_slots, "NODES", nodes)
    monkeypatch.setattr(gpu_slots, "MIG", nodes / "capabilities")
    monkeypatch.setattr(gpu_slots, "TOOL", "no tool")
    gpu_slots._listed.cache_clear()
    monkeypatch.setattr(gpu_slots, "_held", None)


class Job:
    """A process that takes a GPU."""

    def __init__(self, gpus: str | None, limit: int | None, *arguments: str, rest: str = "pass") -> None:
        said = {gpu_slots.VISIBLE: gpus, gpu_slots.LIMIT: limit}
        self.process = subprocess.Popen(
            [sys.executable, "-c", JOB.format(nodes=str(gpu_slots.NODES), rest=rest), *arguments],
            env=os.environ | {name: str(value) for name, value in said.items() if value is not None},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # so that select() sees all that can be read
        )

    def line(self) -> str:
        """Its next line; a job that says nothing for ten minutes fails the test."""
        assert select.select([self.process.stdout], [], [], 600)[0], "the job is silent"
        return self.process.stdout.readline().decode().strip()

    def gpu(self) -> str:
        """What it sees at last."""
        while not (found := self.line()).startswith("sees "):
            assert found, "the job has ended"
        return found.removeprefix("sees ")

    def end(self, number: int = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        return self.process.wait(600)


@pytest.fixture
def job():
    """Starts jobs, which end with the test."""
    started = []

    def start(gpus="0,1,2", limit=None, *arguments, **options):
        started.append(Job(gpus, limit, *arguments, **options))
        return started[-1]

    yield start
    for one in started:
        one.end()
        one.process.stdin.close()
        one.process.stdout.close()


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


# --- which GPUs there are


def test_all_gpus_are_counted_by_their_device_nodes(nodes, job):
    make(nodes, "nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "null")
    assert gpu_slots.visible() == ["0", "1", "2"]
    assert [job(gpus=None).gpu() for _ in range(4)] == ["0", "1", "2", "0"]


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("1,0", ["1", "0"]),
        (" 2 , 1 ", ["2", "1"]),
        ("GPU-8932f937-d72c,GPU-1", ["GPU-8932f937-d72c", "GPU-1"]),
        ("MIG-GPU-1a2b/1/0,MIG-77", ["MIG-GPU-1a2b/1/0", "MIG-77"]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("1,-1,2", ["1"]),
    ],
)
def test_cuda_visible_devices_is_read_as_cuda_reads_it(monkeypatch, nodes, said, names):
    monkeypatch.setenv(gpu_slots.VISIBLE, said)
    assert gpu_slots.visible() == names
    make(nodes, "nvidia0", "nvidia1", "nvidia2")
    assert gpu_slots.visible() == names


LISTED = """\
GPU 0: NVIDIA H100 (UUID: GPU-5d5ba0d6-d33d)
  MIG 3g.20gb     Device  0: (UUID: MIG-c7384736-a75d)
  MIG 3g.20gb     Device  1: (UUID: MIG-a28ad590-3fda)
GPU 1: NVIDIA H100 (UUID: GPU-9a)
"""


@pytest.mark.parametrize("tells", [True, False])
def test_parts_of_a_split_gpu_are_gpus(monkeypatch, nodes, tmp_path, tells):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\ncat <<'EOF'\n{LISTED}EOF\n")
    tool.chmod(0o700 if tells else 0o600)
    monkeypatch.setattr(gpu_slots, "TOOL", str(tool))
    names = ["MIG-c7384736-a75d", "MIG-a28ad590-3fda", "GPU-9a"]
    make(nodes, "nvidia0", "nvidia1")
    assert gpu_slots.visible() == ["0", "1"]
    (nodes / "capabilities/gpu0/mig/gi1").mkdir(parents=True)
    assert gpu_slots.visible() == (names if tells else ["0", "1"])
    monkeypatch.setenv(gpu_slots.VISIBLE, "1")
    assert gpu_slots.visible() == ["1"], "what the user chose counts"


# --- who gets which


def test_no_gpu_gets_more_jobs_than_may_share_one(job):
    jobs = [job(gpus="0,1", limit=2) for _ in range(5)]
    lines = [one.line() for one in jobs]
    waits = "waiting for GPU 0, 1: each is full (runs_per_gpu: 2) or being timed"
    assert Counter(lines) == {"on GPU 0 of 0, 1": 2, "on GPU 1 of 0, 1": 2, waits: 1}
    last = jobs[lines.index(waits)]
    freed = next(one for one, line in zip(jobs, lines, strict=True) if "GPU 1 of" in line)
    freed.process.stdin.close()
    assert last.gpu() == "1"


def test_one_process_at_a_time_looks_and_chooses(monkeypatch):
    """Two that look at the same moment would take each other's look for a job."""
    count, seen = gpu_slots._jobs, []

    def spied(folder, name):
        seen.append(gpu_slots._free(folder / "choosing"))
        return count(folder, name)

    monkeypatch.setattr(gpu_slots, "_jobs", spied)
    monkeypatch.setenv(gpu_slots.VISIBLE, "0,1")
    gpu_slots.take()
    gpu_slots._let_go()
    assert seen == [False, False]


def test_a_killed_job_frees_its_slot_at_once(job):
    first, second = job(gpus="0,1", limit=1), job(gpus="0,1", limit=1)
    gone = {one.gpu(): one for one in (first, second)}["1"]
    assert gone.end(signal.SIGKILL) == -signal.SIGKILL
    assert job(gpus="0,1", limit=1).line() == "on GPU 1 of 0, 1"


# --- alone on a GPU


def test_a_job_that_is_alone_waits_for_an_empty_gpu_and_keeps_it_empty(job):
    first, second = job(gpus="0,1"), job(gpus="0,1")
    assert {first.gpu(), second.gpu()} == {"0", "1"}
    timed = job("0,1", None, "alone")
    assert timed.line() == "waiting for the other runs on GPU 0 to end"
    assert [job(gpus="0,1").gpu() for _ in range(2)] == ["1", "1"]
    for one in (first, second):
        one.end()
    assert timed.gpu() == "0"
    assert job(gpus="0,1").gpu() == "1"


# --- nothing to choose


def test_without_gpus_nothing_is_done(monkeypatch, nodes, locks):
    assert gpu_slots.take() is None
    assert gpu_slots.VISIBLE not in os.environ and not list(locks.iterdir())
    make(nodes, "nvidia0")
    monkeypatch.setenv(gpu_slots.VISIBLE, "")
    assert gpu_slots.take() is None
    assert os.environ[gpu_slots.VISIBLE] == "" and not list(locks.iterdir())


# --- bad input


def test_the_folder_is_the_users_own(monkeypatch, locks):
    monkeypatch.setenv(gpu_slots.VISIBLE, "0")
    folder = locks / f"fairfl-gpus-{os.geteuid()}"
    elsewhere = locks / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)
    refused = re.escape(f"{folder}: is not a folder that only this user can use")
    with pytest.raises(FairflError, match=refused):
        gpu_slots.take()
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o770)
    with pytest.raises(FairflError, match=refused):
        gpu_slots.take()
    folder.rmdir()
    gpu_slots.take()
    gpu_slots._let_go()
    assert folder.stat().st_mode & 0o777 == 0o700
