"""Which of a machine's GPUs a job computes on.

Snakemake counts GPUs (`resources: gpu`) but gives no job its own, so that all would compute on the first.
Here each job takes a slot on the GPU with the fewest jobs: the lock on a file `<gpu>.<slot>` in a folder of the user's,
which the kernel drops when the job ends, however it ends. A GPU with a lock on its file `<gpu>.alone` gets no more
jobs: one that measures seconds has it, or waits for it to become empty.

No torch here: the driver reads CUDA_VISIBLE_DEVICES when it is first asked for GPUs, and never again.
"""

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from math import inf
from pathlib import Path
from stat import S_ISDIR
from typing import TypeVar

from fairfl.runtime import cluster, opened
from fairfl.runtime.errors import FairflError

VISIBLE = "CUDA_VISIBLE_DEVICES"
LIMIT = "FAIRFL_RUNS_PER_GPU"  # config.yaml: runs_per_gpu, as the workflow hands it to its jobs
NODES = Path("/dev")
MIG = Path(
    "/proc/driver/nvidia/capabilities"
)  # has a folder for each part of a GPU that is split (MIG)
TOOL = "nvidia-smi"
PAUSE = 0.5  # seconds between two looks at the GPUs
_NODE = re.compile(r"nvidia\d+")
_NAME = re.compile(r"\d+|(GPU|MIG)-[\w/-]+", re.ASCII)
_END = re.compile(
    r"|-\d+|NoDevFiles"
)  # what ends the list of GPUs for CUDA; batch systems write it for "none"

_LISTED = re.compile(r"\(UUID: ((?:GPU|MIG)-[\w/-]+)\)", re.ASCII)  # in a line of nvidia-smi -L
Found = TypeVar("Found")
_held: int | None = None  # the lock of this process; closing it would drop it


@opened.by_fairfl()
def visible() -> list[str]:
    """Names of the GPUs that CUDA would use here: as CUDA_VISIBLE_DEVICES lists them, else all, [0, 1, ...].

    They are counted by their device nodes: a container has only its GPUs', while /proc and nvidia-smi, where
    they are there at all, may tell of others. nvidia-smi alone has the names of the parts of a GPU that is split
    (MIG); without it, jobs see the first part of each, as CUDA does. Raises FairflError for a name that
    CUDA would not know: it would silently drop that one and all after it.
    """
    present = sum(1 for name in os.listdir(NODES) if _NODE.fullmatch(name))
    listed = os.environ.get(VISIBLE)
    if listed is None:
        is_split = any(MIG.glob("gpu*/mig/gi*"))
        return (_listed() if is_split else []) or [str(index) for index in range(present)]
    names: list[str] = []
    for name in map(str.strip, listed.split(",")):
        if _END.fullmatch(name):
            break
        if not _NAME.fullmatch(name):
            raise FairflError(
                f"{VISIBLE}: {name!r} is not an index (0), GPU-... or MIG-...; '' stands for no GPU"
            )
        if name in names:
            raise FairflError(f"{VISIBLE}: {name!r} is listed twice in {listed!r}")
        if present and name.isdecimal() and int(name) >= present:
            raise FairflError(f"{VISIBLE}: {name!r}: the last GPU of this machine is {present - 1}")
        names.append(name)
    return names


@cache
def _listed() -> list[str]:
    """Names of the parts of split GPUs and of whole GPUs; [] if nvidia-smi does not tell."""
    import subprocess  # few machines need it

    if not shutil.which(TOOL):  # a tenth of what it takes to start nothing
        return []
    try:
        listed = subprocess.run([TOOL, "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    names: list[str] = []
    for name in _LISTED.findall(listed.stdout):
        if name.startswith("MIG-") and names and names[-1].startswith("GPU-"):
            names.pop()  # the GPU that is split
        names.append(name)
    return names


@opened.by_fairfl()
def take(alone: bool = False) -> str | None:
    """Make one GPU the only one that CUDA finds in this process, which keeps a slot on it to its end.

    Waits while every GPU has as many jobs as may share one. A cluster's job chooses only among several GPUs that its
    scheduler made visible; a single one is its own already.

    Args:
        alone: let no other job onto the GPU, and wait until it is empty.

    Returns:
        The GPU's name in CUDA_VISIBLE_DEVICES; None if there is nothing to choose from or this process has chosen.

    Raises:
        FairflError: CUDA_VISIBLE_DEVICES makes no sense, or the folder is not this user's.
    """
    global _held
    names = visible()
    assigned = cluster.job() is not None and (VISIBLE not in os.environ or len(names) == 1)
    if _held is not None or not names or assigned:
        return None
    folder, limit = _folder(), float(os.environ.get(LIMIT, inf))
    listed = ", ".join(names)
    full = "" if alone or limit == inf else f"full (runs_per_gpu: {limit:g}) or "
    name, _held = _wait_for(
        lambda: _claim(folder, names, limit, alone),
        f"waiting for GPU {listed}: each is {full}being timed",
    )
    if alone:
        _wait_for(
            lambda: _jobs(folder, name) == 0 or None,
            f"waiting for the other runs on GPU {name} to end",
        )
    os.environ[VISIBLE] = name
    print(f"on GPU {name}" + (f" of {listed}" if len(names) > 1 else ""), flush=True)
    return name


def _folder() -> Path:
    """Folder of the locks: one per user, and per job on a cluster, where equal names may mean different GPUs.

    Not in XDG_RUNTIME_DIR, which differs between a login and cron, and is removed when the user logs out.
    """
    job = cluster.job()
    scope = "" if job is None else "-" + re.sub(r"\W", "_", job)
    folder = Path(tempfile.gettempdir(), f"fairfl-gpus-{os.geteuid()}{scope}")
    folder.mkdir(mode=0o700, exist_ok=True)
    # Anybody may make files in the parent folder, a link among them.
    status = folder.lstat()
    if not S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise FairflError(
            f"{folder}: is not a folder that only this user can use; remove it or set TMPDIR"
        )
    return folder


def _claim(folder: Path, names: list[str], limit: float, alone: bool) -> tuple[str, int] | None:
    """A lock on the GPU with the fewest jobs, the first of several; None if all are full or somebody's alone."""
    with _locked(folder / "choosing"):
        jobs = {name: _jobs(folder, name) for name in names if _free(_file(folder, name, "alone"))}
        if not alone:
            jobs = {name: number for name, number in jobs.items() if number < limit}
        if not jobs:
            return None
        name = min(jobs, key=lambda name: jobs[name])
        slots = ["alone"] if alone else map(str, count())
        locks = (_lock(_file(folder, name, slot)) for slot in slots)
        return name, next(lock for lock in locks if lock is not None)


def _jobs(folder: Path, name: str) -> int:
    """Jobs on a GPU. Looking takes each lock for a moment, so only one process may look at a GPU at a time."""
    return sum(not _free(path) for path in folder.glob(_file(folder, name, "[0-9]*").name))


def _file(folder: Path, name: str, slot: str) -> Path:
    return folder / f"{name.replace('/', '_')}.{slot}"


def _free(path: Path) -> bool:
    lock = _lock(path)
    if lock is not None:
        os.close(lock)
    return lock is not None


def _lock(path: Path) -> int | None:
    """A descriptor that holds the lock on a file as long as it is open; None if another process has it.

    Programs that this process starts do not inherit it.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """As the only process that is in here."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _wait_for(look: Callable[[], Found | None], message: str) -> Found:
    """Wait for what `look` finds. It says once that it waits; Ctrl-C and SIGTERM end that."""
    result = look()
    if result is None:
        print(message, flush=True)
    while result is None:
        time.sleep(PAUSE)
        result = look()
    return result


def _let_go() -> None:
    """In a forked child: the slot is its parent's, and must not outlive it."""
    global _held
    if _held is not None:
        os.close(_held)
        _held = None


os.register_at_fork(after_in_child=_let_go)
