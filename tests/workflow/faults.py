"""What may happen to a workflow at any time (signals, damaged files, a wrong clock), and how to see what it left."""

import contextlib
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from fairfl.data.formats import mnist_files
from tests.workflow.small_project import Project

TINY = """
scale: tiny
description: Two settings with trainings that last about a second; one has files to fetch.
patches:
  - match: ["*"]
    set: {seeds: [0]}
    why: test
  - match: ["eagle_emnist_*"]
    set:
      data: {name: mnist}
      samples: 600
      clients: 3
      clients_per_round: 3
      rounds: 700
      evaluate_every: 100
      local_optimum.max_steps: 300
    why: test
  - match: ["eagle_synthetic_*"]
    set: {rounds: 1500, local_optimum.max_steps: 300}
    why: test
"""
SELECTED = (
    "scale=tiny",
    "artifacts=eagle_table1,eagle_figure3",
    "algorithms=fedavg,afl,eagle/lambda=1.0,eagle/lambda=2.0",
    "mirrors=mirror",
    "offline=true",
    "checkpoint_seconds=0.15",
)

CHECKPOINT = "checkpoint"  # a training that has left one in this call
# Saying how long it took, on which machine, by which process, or where a file was found: not equal in two runs.
VARIES = (".json", ".log", ".html", "/.lock")
MADE = ("results", "data", ".snakemake")
YEAR = 365.25 * 24 * 3600
PATIENCE = 900.0  # seconds after which something hangs, even on a busy machine


def fetching(root: Path, folder: Path) -> Project:
    """A small project of its own scale whose images lie in a mirror."""
    project = Project(root, folder, TINY, SELECTED)
    draw = np.random.default_rng(0)
    for part, count in (("train", 3000), ("t10k", 500)):
        _offer(project, f"{part}-images-idx3-ubyte.gz", draw.integers(0, 256, (count, 28, 28), dtype=np.uint8))
        _offer(project, f"{part}-labels-idx1-ubyte.gz", np.arange(count, dtype=np.uint8) % 10)
    return project


def _offer(project: Project, name: str, array: np.ndarray) -> None:
    """Put an IDX file into the mirror and let its digest be the published one of packed files."""
    head = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    data = gzip.compress(head + array.tobytes(), mtime=0)
    project.write(f"mirror/mnist/{name}", data)
    source = "src/fairfl/data/mnist.py"
    digests = re.findall('"([0-9a-f]{64})"', (project.folder / source).read_text())
    packed = len(mnist_files.NAMES) + mnist_files.NAMES.index(name)  # behind those of unpacked files
    project.edit(source, digests[packed], hashlib.sha256(data).hexdigest())


def from_nothing(project: Project, folder: Path) -> Project:
    """The same project elsewhere, as if nothing had run yet."""
    other = project.copy(folder)
    for name in MADE:
        shutil.rmtree(folder / name)
    return other


def start(project: Project, *arguments: str, config: tuple[str, ...] = ()) -> "Workflow":
    """Begin to run Snakemake in a session of its own."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    return Workflow(project.folder, [*command, "--config", *project.selection, *config])


def made_in(project: Project) -> dict[str, Path]:
    """Everything below the results and the fetched data, hidden files too."""
    return dict(files_below(project.folder, "results", "data"))


def same_in(project: Project) -> dict[str, bytes]:
    """Contents of all results that must be equal in two runs."""
    return {name: path.read_bytes() for name, path in made_in(project).items() if not name.endswith(VARIES)}


class Workflow:
    """One call of Snakemake and all that it starts. As a context it leaves nothing of it behind."""

    def __init__(self, folder: Path, command: list[str], environment: Mapping[str, str] = os.environ) -> None:
        self.folder = folder
        self.before = {name: inode(path) for name, path in files_below(folder, "results")}
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the workflow is)
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            env={k: v for k, v in environment.items() if k != "PYTHONPATH"},
            start_new_session=True,
        )
        self.pid = self.process.pid

    def __enter__(self) -> "Workflow":
        return self

    def __exit__(self, *_) -> None:
        stop_all(self.folder)
        self.process.wait()
        self.output.close()

    def running(self) -> bool:
        return self.process.poll() is None

    def said(self) -> str:
        """What it has printed so far, at most the last 20,000 bytes."""
        size = os.fstat(self.output.fileno()).st_size
        return os.pread(self.output.fileno(), 20_000, max(size - 20_000, 0)).decode(errors="replace")

    def wait_for(self, seen: Callable[[], object], pause: float = 0.01) -> bool:
        """Until something is seen (True) or the workflow has ended or the time is over (False)."""
        limit = time.monotonic() + PATIENCE
        while not seen():
            if not self.running() or time.monotonic() > limit:
                return bool(seen())
            time.sleep(pause)
        return True

    def ended(self, seconds: float = PATIENCE) -> bool:
        """Wait for the end of Snakemake itself; False if it does not end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return not self.running()

    def new(self, pattern: str = "**/*") -> list[str]:
        """Files below the results that have come since this call of Snakemake, by a pattern."""
        found = {str(path.relative_to(self.folder)): inode(path) for path in self.folder.glob(f"results/{pattern}")}
        return sorted(name for name, number in found.items() if number not in (None, self.before.get(name)))

    def seen(self, phase: str) -> bool:
        """A job of this rule runs; or a training has a checkpoint."""
        if phase == CHECKPOINT:
            return bool(self.new("tiny/runs/**/checkpoint.pt"))
        return phase in running_in(self.folder).values()

    def phases(self) -> list[str]:
        """Rules of the jobs that run now."""
        return sorted({*running_in(self.folder).values(), *([CHECKPOINT] if self.seen(CHECKPOINT) else [])})


# -- processes ----------------------------------------------------------------------------------
def processes_in(folder: Path) -> dict[int, list[str]]:
    """Process -> command line, of all that run in a folder: Snakemake, shells, clients, server, jobs."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.path.samefile(process / "cwd", folder):  # on a node of tests/workflow/slurm.py by another path
                found[int(process.name)] = (process / "cmdline").read_text().split("\0")[:-1]
    return {pid: command for pid, command in found.items() if command}  # one without has ended


def running_in(folder: Path) -> dict[int, str]:
    """Process -> rule, of the jobs that Snakemake has started, be it plainly or as the client of a server."""
    return {
        pid: part.removeprefix("fairfl.jobs.")
        for pid, command in processes_in(folder).items()
        for part in command
        if part.startswith("fairfl.jobs.")
    }


def servers_in(folder: Path) -> dict[int, list[int]]:
    """Process of each start server -> the processes that it has forked for jobs."""
    commands = processes_in(folder).items()
    named = {pid: parent(pid) for pid, command in commands if "fairfl.runtime.warm_start.server" in command}
    first = [pid for pid, above in named.items() if above not in named]
    return {server: [pid for pid, above in named.items() if above == server] for server in first}


def parent(pid: int) -> int:
    """Process that has started a process; 0 if it has ended."""
    return int(_state(pid)[1])


def sleeps(pid: int) -> bool:
    """Whether a process was stopped (SIGSTOP)."""
    return _state(pid)[0] == "T"


def _state(pid: int) -> list[str]:
    """Letter of a process's state, process that has started it."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    return ["X", "0"]


def signal_to(pid: int, number: int) -> None:
    """To a process, or to a group (negative), that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def stop_all(folder: Path) -> None:
    """Kill all that runs in a folder, and what that starts in the meantime."""
    while found := processes_in(folder):
        for pid in found:
            signal_to(pid, signal.SIGKILL)
        time.sleep(0.01)


def gone(folder: Path) -> bool:
    """Wait until nothing runs in a folder; False if something stays."""
    limit = time.monotonic() + PATIENCE
    while processes_in(folder):
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


# -- files --------------------------------------------------------------------------------------
def files_below(folder: Path, *names: str) -> Iterator[tuple[str, Path]]:
    """(Path below the folder, path) of the files in some of its folders, sorted."""
    for name in names:
        for path in sorted((folder / name).rglob("*")):
            if path.is_file() and ".code" not in path.parts:
                yield str(path.relative_to(folder)), path


def inode(path: Path) -> int | None:
    """Number of a file, by which one can see that it was replaced; None if there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


def makers_in(project: Project) -> dict[str, str]:
    """Path of each result -> the rule that makes it, as the records say."""
    makers = {}
    for path in project.folder.glob("results/*/records/**/*.json"):
        rule = path.relative_to(project.folder).parts[3].removesuffix(".json")
        makers |= dict.fromkeys(json.loads(path.read_text())["outputs"], rule)
    return makers


# -- faults, by name. Each takes the project's folder, a path below it and a number. ---------------
def truncate(folder: Path, path: str, share: float) -> None:
    """To this share of its size."""
    os.truncate(folder / path, int(share * (folder / path).stat().st_size))


def flip(folder: Path, path: str, share: float) -> None:
    """A bit of the byte that lies there is another one; size and times stay."""
    file = folder / path
    before, data = file.stat(), bytearray(file.read_bytes())
    if data:
        data[int(share * len(data))] ^= 1
    with file.open("r+b") as out:
        out.write(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def delete(folder: Path, path: str, _: float) -> None:
    (folder / path).unlink()


def junk(folder: Path, path: str, size: float) -> None:
    """What an unknown program leaves: a new file of so many random bytes."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    with (folder / path).open("xb") as file:
        file.write(random.Random(size).randbytes(int(size)))


def date(folder: Path, path: str, years: float) -> None:
    """Written so many years from now."""
    then = time.time() + years * YEAR
    os.utime(folder / path, (then, then))


def forget(folder: Path, path: str, _: float) -> None:
    """A folder is gone."""
    shutil.rmtree(folder / path)


FAULTS = {function.__name__: function for function in (truncate, flip, delete, junk, date, forget)}


def befall(folder: Path, fault: tuple[str, str, float]) -> bool:
    """One fault, as (name, path, number). What has vanished or come in the meantime is left as it is (False)."""
    name, path, number = fault
    with contextlib.suppress(FileNotFoundError, FileExistsError):
        FAULTS[name](folder, path, number)
        return True
    return False
