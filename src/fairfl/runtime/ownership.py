"""Who may write a job's files: the process that took the job last.

A killed workflow can leave jobs behind that go on (orphans), on this machine or on a cluster's nodes. The next
workflow starts the same job again, whose process takes it over; from then on the orphan's writes fail. The owner's
token is in a file beside the job's record. That file is locked (flock) only while it is read or written and while a
finished file is put in its place, so that of a takeover and a write one is entirely before the other.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

from fairfl.runtime import atomic
from fairfl.runtime.errors import FairflError

# What file systems without locks answer: Lustre and NFS mounted without them, some user-space file systems.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)


WORKFLOW = "FAIRFL_WORKFLOW"  # where jobs find the token of their workflow
_OWN = secrets.token_hex(8)  # token of this process, should it be a workflow


class OwnershipLostError(FairflError):
    """Another process has taken the job over; nothing was written."""


@contextlib.contextmanager
def owning(lock: Path, files: Iterable[Path] = ()) -> Iterator[None]:
    """Within, this process alone may write the job that ``lock`` stands for.

    Whoever had it before may no longer write, be it alive or dead. Temporary files that were left beside ``files``
    (outputs, record, checkpoint) are deleted. At the end ``lock`` is removed; a killed process leaves it to the next.

    Every file that fairfl.runtime.atomic writes or deletes counts, not only ``files``: a job is one process.
    Where the file system has no locks, a write at the very moment of a takeover can slip through.

    Raises:
        OwnershipLostError: by fairfl.runtime.atomic: another process owns the job now.
        OSError: ``lock`` cannot be written.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(8)
    with _locked(lock, "a+") as file:
        try:
            _sign(file, token)
        except OSError:  # a full disk: what stayed would be a lock of nobody
            lock.unlink()
            raise
        # While nobody else can become the owner: a newer one's temporary files are alive.
        atomic.sweep(files)
    try:
        with atomic.permitted_by(partial(_permit, lock, token)):
            yield
    finally:
        # A file that stays is taken over like a killed process's.
        with contextlib.suppress(OSError), _locked(lock, "r+") as file:
            if _signed(file).get("token") == token:
                lock.unlink()


def workflow_lock(path: Path) -> FileIO:
    """Lock the folder of ``path`` for one workflow until what is returned is closed or this process ends or is killed.

    Children do not inherit the lock. On a file system without locks a warning is printed instead.

    Raises:
        FairflError: another process holds the lock.
        OSError: ``path`` cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    alone = fcntl.LOCK_EX | fcntl.LOCK_NB
    try:
        file = _locked(path, "a+", alone)
    except BlockingIOError:
        with FileIO(path) as held:
            holder = _signed(held)
        raise FairflError(
            f"{path.parent}: another workflow runs in this folder: {_named(holder)}; "
            f"wait for it or stop it (kill {holder.get('pid', 'its pid')})"
        ) from None
    if not _flock(file, alone):
        print(
            f"warning: {path.parent}: this file system has no locks; "
            "take care that no other workflow runs in this folder",
            file=sys.stderr,
        )
    _sign(file, _OWN)
    os.environ[WORKFLOW] = _OWN
    # What is only forked shares the open file, and with it the lock. This also keeps the file from being collected.
    os.register_at_fork(after_in_child=file.close)
    return file


def still_wanted(path: Path) -> None:
    """Refuse to go on in a job whose workflow has died, if another one has locked ``path`` since.

    A cluster's queue starts such a job long after the next workflow has made its results, or while it makes them.

    Raises:
        FairflError: another workflow has begun.
    """
    token = os.environ.get(WORKFLOW)
    if token is None or not path.exists():
        return
    with open(path, "rb", buffering=0) as file:
        holder = _signed(file)
    if holder.get("token", token) != token:
        raise FairflError(
            f"{path.parent}: the workflow of this job has ended and another workflow has begun: {_named(holder)}; "
            "the job does nothing"
        )


def use(path: Path) -> FileIO:
    """Keep what ``path`` stands for from being deleted (`in_use`) until what is returned is closed.

    Raises OSError if it is gone.
    """
    file = FileIO(path)
    _flock(file, fcntl.LOCK_SH)
    return file


def in_use(path: Path) -> bool:
    """True if a process uses ``path``. Where the file system has no locks nobody seems to."""
    try:
        with FileIO(path, "r+") as file:
            _flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError as error:
        return isinstance(error, BlockingIOError)


@contextlib.contextmanager
def _permit(lock: Path, token: str) -> Iterator[None]:
    """Within, nobody can take the job over. Raises Taken if somebody has."""
    job = lock.with_suffix("")
    try:
        file = _locked(lock, "r+")
    except FileNotFoundError:
        raise OwnershipLostError(
            f"{job}: another process took this job over and has ended since, or its folder was deleted "
            f"({lock.name} is gone); process {os.getpid()} wrote nothing and stops"
        ) from None
    with file:
        owner = _signed(file)
        if owner.get("token") != token:
            raise OwnershipLostError(
                f"{job}: taken over by {_named(owner)}; process {os.getpid()} wrote nothing and stops"
            )
        yield


def _locked(path: Path, mode: str, how: int = fcntl.LOCK_EX) -> FileIO:
    """The file at ``path``, open and locked; to close it is to unlock it. Where there are no locks, it is just open."""
    while True:
        file = FileIO(path, mode)  # not inherited by programs that are started
        try:
            _flock(file, how)
            if _is_at(file, path):
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # its owner removed it before this process had the lock


def _flock(file: FileIO, how: int) -> bool:
    """False if the file system has no locks."""
    try:
        fcntl.flock(file, how)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True


def _is_at(file: FileIO, path: Path) -> bool:
    # By opening it: network file systems answer stat from a cache.
    try:
        with FileIO(path) as other:
            return os.path.samestat(os.fstat(file.fileno()), os.fstat(other.fileno()))
    except FileNotFoundError:
        return False


def _sign(file: FileIO, token: str) -> None:
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    owner = {"token": token, "pid": os.getpid(), "host": os.uname().nodename, "since": since}
    try:
        file.truncate(0)
        file.write(json.dumps(owner).encode() + b"\n")
    except OSError as error:  # a full disk does not say of which file
        raise OSError(error.errno, error.strerror, str(file.name)) from error


def _signed(file: FileIO) -> dict[str, Any]:
    """What the owner wrote; empty if it did not come to the end of that."""
    file.seek(0)
    try:
        owner = json.loads(file.read())
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def _named(owner: dict[str, Any]) -> str:
    pid, host, since = (owner.get(key, "unknown") for key in ("pid", "host", "since"))
    return f"pid {pid} on host {host} since {since}"
