"""Locks: one workflow at a time writes in a folder of results, and what a process uses is not deleted.

A killed workflow can leave jobs behind that go on (orphans). Nothing stops them: they put whole files in place, whose
record says what they were made from, so that a job that reads them refuses what it was not planned with, and the next
plan repairs it. Only a job that has not begun when the next workflow does refuses to (`still_wanted`).
"""

import errno
import fcntl
import json
import os
import secrets
import sys
import time
from io import FileIO
from pathlib import Path
from typing import Any

from fairfl.runtime.errors import FairflError

# What file systems without locks answer: Lustre and NFS mounted without them, some user-space file systems.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)

WORKFLOW = "FAIRFL_WORKFLOW"  # where jobs find the token of their workflow
_OWN = secrets.token_hex(8)  # token of this process, should it be a workflow


def workflow_lock(path: Path) -> FileIO:
    """Lock the folder of ``path`` for one workflow until what is returned is closed or this process ends or is killed.

    Children do not inherit the lock. On a file system without locks a warning is printed instead.

    Raises:
        FairflError: another process holds the lock.
        OSError: ``path`` cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = FileIO(path, "a+")  # not inherited by programs that are started
    try:
        has_locks = _flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _signed(file)
        file.close()
        raise FairflError(
            f"{path.parent}: another workflow runs in this folder: {_named(holder)}; "
            f"wait for it or stop it (kill {holder.get('pid', 'its pid')})"
        ) from None
    if not has_locks:
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
    """True if a process uses ``path``. Where the file system has no locks no process seems to."""
    try:
        with FileIO(path, "r+") as file:
            _flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError as error:
        return isinstance(error, BlockingIOError)


def _flock(file: FileIO, how: int) -> bool:
    """False if the file system has no locks."""
    try:
        fcntl.flock(file, how)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True


def _sign(file: FileIO, token: str) -> None:
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    owner = {"token": token, "pid": os.getpid(), "host": os.uname().nodename, "since": since}
    try:
        file.truncate(0)
        file.write(json.dumps(owner).encode() + b"\n")
    except OSError as error:  # a full disk does not say of which file
        raise OSError(error.errno, error.strerror, str(file.name)) from error


def _signed(file: FileIO) -> dict[str, Any]:
    """Read what the owner wrote; empty if it did not come to the end of that."""
    file.seek(0)
    try:
        owner = json.loads(file.read())
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def _named(owner: dict[str, Any]) -> str:
    pid, host, since = (owner.get(key, "unknown") for key in ("pid", "host", "since"))
    return f"pid {pid} on host {host} since {since}"
