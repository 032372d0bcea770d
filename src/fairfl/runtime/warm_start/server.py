"""The server: imports once what jobs need, then forks a ready process for each client that connects.

It ends with the workflow: it reads from a pipe whose other end lives in the workflow's process, so that the death of
that process closes it. It has one thread and never touches a GPU: what it forks is as good as new. Only limits
(`ulimit`, `nice`) are the server's, not the client's.
"""

import contextlib
import ctypes
import gc
import importlib
import io
import json
import marshal
import os
import select
import selectors
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from typing import NoReturn, cast

from fairfl.runtime import arithmetic, cli, cluster, opened, processes
from fairfl.runtime.warm_start.client import STARTED, identity

# What most jobs import, or import when they save.
LIBRARIES = (
    "jinja2",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "pyarrow.pandas_compat",
    "pyarrow.parquet",
    "pydantic",
    "safetensors.torch",
    "seaborn",
    "xxhash",
    "yaml",
)
# What the interpreter, the loader, the allocator and the number libraries read once. Thread numbers are not among
# these: they differ between rules, and jobs set them themselves.
READ_AT_START = (
    "PYTHON",
    "LANG",
    "LC_",
    "LD_",
    "MALLOC_",
    "MKL_",
    "OMP_",
    "KMP_",
    "ATEN_",
    "TORCH_",
    "PYTORCH_",
)
GRACE = 5.0  # seconds between asking a job to end and killing it
MADV_COLLAPSE = 25
HUGE_PAGE = 2**21  # bytes, on x86-64 and on ARM with pages of 4 KiB


def preload(workflow: int, names: Iterable[str]) -> None:
    """Import what jobs need, as long as the workflow lives. The job that needs a broken module says so itself."""
    for name in names:
        if not select.select([workflow], [], [], 0)[0]:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a job must not touch, and so copy, what all jobs share
    gc.set_threshold(100_000)  # jobs are short, and read tables of a million cells
    into_huge_pages()
    if (threads := len(os.listdir("/proc/self/task"))) > 1:
        raise RuntimeError(f"the imports have started {threads - 1} threads")


def into_huge_pages() -> None:
    """Gather this process's memory in huge pages, as far as the kernel can (Linux 6.1 or newer).

    A fork copies the table of all pages and the end of the job takes it down: with half a GB in small pages that is
    half of what a short job costs.
    """
    libc = ctypes.CDLL(None)
    with open("/proc/self/maps") as file:
        areas = [line.split(maxsplit=5) for line in file]
    for addresses, access, _, _, _, *name in areas:
        if access == "rw-p" and name in ([], ["[heap]\n"]):  # memory of no file
            first, end = (int(address, 16) for address in addresses.split("-"))
            first, end = -(-first // HUGE_PAGE) * HUGE_PAGE, end // HUGE_PAGE * HUGE_PAGE
            if first < end:  # where it fails, memory stays as it is
                libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), MADV_COLLAPSE)


def fixed(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a process cannot change any more once it runs."""
    return {
        name: value
        for name, value in environment.items()
        # A cluster's job has limits of its own (memory, cores, GPUs), which nothing may leave.
        if name in cluster.VARIABLES
        or (name.startswith(READ_AT_START) and not name.endswith("_NUM_THREADS"))
    }


class ForkedJob:
    """A client's connection and the process that runs for it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.pid, self.kill_at = connection, 0, 0.0

    def signal(self, number: int) -> None:
        """To the job and whatever it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


class Server:
    """One loop over clients, ended processes and the end of the workflow."""

    def __init__(self, listener: socket.socket, workflow: int) -> None:
        self.listener, self.workflow, self.open = listener, workflow, True
        self.identity = identity(), fixed(os.environ)
        self.jobs: set[ForkedJob] = set()
        self.woken, self.wake = socket.socketpair()
        self.wake.setblocking(False)
        self.selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Until the workflow ends; then ask every job to end, and wait for it."""
        signal.set_wakeup_fd(self.wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)  # it only has to wake the loop
        for file, call in (
            (self.listener, self.accept),
            (self.workflow, self.close),
            (self.woken, self.reap),
        ):
            self.selector.register(file, selectors.EVENT_READ, call)
        while self.open or self.jobs:
            dying = [job for job in self.jobs if job.kill_at]
            # One at a time: a call may close what another event is about.
            for key, _ in self.selector.select(0.2 if dying else None)[:1]:
                key.data()
            for job in dying:
                if job in self.jobs and time.monotonic() > job.kill_at:
                    job.signal(signal.SIGKILL)

    def close(self) -> None:
        """Take no more jobs and end the running ones."""
        self.open = False
        self.selector.unregister(self.listener)
        self.selector.unregister(self.workflow)
        self.listener.close()
        for job in list(self.jobs):
            self.abandon(job)

    def reap(self) -> None:
        """Tell clients how their jobs have ended."""
        self.woken.recv(4096)
        with contextlib.suppress(ChildProcessError):
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                jobs = [job for job in self.jobs if job.pid == ended.si_pid]
                for job in jobs:
                    job.signal(signal.SIGKILL)  # what is left of its group
                _, status = os.waitpid(ended.si_pid, 0)
                for job in jobs:
                    with contextlib.suppress(OSError):
                        job.connection.send(status.to_bytes(4, "big"))
                    self.forget(job)

    def accept(self) -> None:
        job = ForkedJob(self.listener.accept()[0])
        self.jobs.add(job)
        self.selector.register(job.connection, selectors.EVENT_READ, lambda: self.read(job))

    def read(self, job: ForkedJob) -> None:
        """One message of a client: its request, then signals; nothing if it is gone."""
        try:
            message, files, _, _ = socket.recv_fds(job.connection, 2**20, 4)
        except OSError:
            message, files = b"", []
        if not message:
            self.abandon(job)
        elif job.pid:
            job.signal(message[0])
        else:
            self.fork(job, message, files)
        for file in files:
            os.close(file)

    def abandon(self, job: ForkedJob) -> None:
        """The job is no longer awaited: end it."""
        if not job.pid:
            self.forget(job)
        elif not job.kill_at:
            self.selector.unregister(job.connection)
            job.signal(signal.SIGTERM)
            job.kill_at = time.monotonic() + GRACE

    def forget(self, job: ForkedJob) -> None:
        if not job.kill_at:
            self.selector.unregister(job.connection)
        job.connection.close()
        self.jobs.remove(job)

    def fork(self, job: ForkedJob, message: bytes, files: list[int]) -> None:
        """Start the job's process. A client that cannot have one here is forgotten, and starts plainly."""
        try:
            theirs, *request = marshal.loads(message)
            theirs = theirs, fixed(request[1])
        except (ValueError, TypeError, EOFError, LookupError, AttributeError):
            theirs = None
        gone = select.select([job.connection], [], [], 0)[0]
        if theirs != self.identity or len(files) != 4 or gone:
            return self.forget(job)
        try:
            job.pid = os.fork()
            if job.pid == 0:
                try:
                    self._become(job, files, *request)
                    run(request[0][0])
                finally:
                    os._exit(1)
        except OSError:  # no memory or no process is left
            self.forget(job)

    def _become(
        self,
        job: ForkedJob,
        files: list[int],
        argv: list[str],
        environment: dict,
        folder: str,
        mask: int,
    ) -> None:
        """In the forked process: be what the client would be, and say so. If this fails the client starts plainly."""
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        *streams, gate = files
        for target, file in enumerate(streams):
            os.dup2(file, target)
            os.close(file)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        os.umask(mask)
        sys.argv[:] = argv
        cast(io.TextIOWrapper, sys.stdout).reconfigure(line_buffering=os.isatty(1))
        job.connection.send(STARTED)
        for connection in (
            self.listener,
            self.woken,
            self.wake,
            *(job.connection for job in self.jobs),
        ):
            connection.close()
        self.selector.close()
        os.close(self.workflow)
        os.read(gate, 1)  # until the client passes on signals, or is gone
        os.close(gate)


def run(name: str) -> NoReturn:
    """Do what `python -m NAME` does, and leave without taking torch down."""
    code: str | int | None = 0
    try:
        module = importlib.import_module(name)
        sys.argv[0] = str(module.__file__)
        cli.run(module.main, teardown=False)
    except SystemExit as stop:
        code = stop.code
    except BaseException as error:
        frames = error.__traceback__.tb_next if error.__traceback__ else None  # without this one
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code or 0) & 0xFF)


def main() -> None:
    """server.py WORKFLOW LISTENER FOLDER MODULES: open files by number, the socket's folder, a JSON list."""
    workflow, listener, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    modules = json.loads(sys.argv[4])
    opened.preloaded.update(name for name in modules if name.startswith("fairfl."))
    processes.end_together()
    try:
        preload(workflow, [*LIBRARIES, *modules])
        list(map(arithmetic.version, ("numpy", "scikit-learn", "torch")))
        Server(socket.socket(fileno=listener), workflow).serve()
    except Exception as error:
        print(
            f"no warm starts, each job imports everything itself: {type(error).__name__}: {error}",
            file=sys.stderr,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
    sys.stderr.flush()
    os._exit(0)  # libraries have nothing to put in order, and some complain at length when they try
