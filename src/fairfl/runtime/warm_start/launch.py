"""The server's life as the workflow sees it."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairfl.runtime.warm_start.client import VARIABLE, address_of

# OpenBLAS and jemalloc (in pyarrow) start threads when they are imported, and a process with threads must not fork.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
_ONE_THREAD["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
WORTH = 4  # jobs; for fewer the server's own start costs more than it saves


class StartServer:
    """Starts and ends the server of one workflow. Jobs find it through the environment."""

    command = [sys.executable, "-P", "-m", "fairfl.runtime.warm_start.server"]
    process: subprocess.Popen[bytes] | None = None

    def __init__(self) -> None:
        self._changing = threading.RLock()

    def start(
        self,
        libraries: Sequence[str] = (),
        shared: Mapping[str, Sequence[str]] | None = None,
        say: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
    ) -> None:
        """Returns at once: clients may connect from now on, and wait until the imports are done.

        `libraries` are what some of the workflow's models import beside what all jobs do, `shared` the modules of
        fairfl that all planned jobs of a rule run, by job module. Where a server cannot be started a line is said, and
        jobs start plainly; one that is killed is said and started again.
        """
        if sys.platform != "linux":
            return
        try:
            self._start(libraries, shared or {})
        except OSError as error:
            return say(f"no warm starts, each job imports everything itself: {error}")
        threading.Thread(
            target=self._watch, args=(self.process, libraries, shared, say), daemon=True
        ).start()

    def _start(self, libraries: Sequence[str], shared: Mapping[str, Sequence[str]]) -> None:
        self.folder = tempfile.mkdtemp(prefix="fairfl-")  # mode 0700: nobody else can connect
        address = os.path.join(self.folder, "socket")
        watched, self.alive = os.pipe()
        with contextlib.ExitStack() as listeners:
            rules = {}
            for rule, modules in {"": (), **shared}.items():
                listener = listeners.enter_context(
                    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                )
                listener.bind(address_of(address, rule))
                listener.listen(1024)
                rules[rule] = listener.fileno(), list(modules)
            self.process = subprocess.Popen(
                [
                    *self.command,
                    str(watched),
                    self.folder,
                    json.dumps(libraries),
                    json.dumps(rules),
                ],
                env=os.environ | _ONE_THREAD,
                pass_fds=(watched, *(number for number, _ in rules.values())),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the clients, which pass it on
            )
        os.close(watched)
        os.environ[VARIABLE] = address

    def _watch(self, process: subprocess.Popen[bytes], *how: Any) -> None:
        """A server that was killed, for lack of memory for instance, is started again."""
        if process.wait() >= 0:  # one that ended by itself has said why
            return
        with self._changing:
            if self.process is process:  # nobody has asked it to stop
                how[-1](
                    "the start server was killed: the jobs that it ran fail, it is started again"
                )
                os.close(self.alive)
                shutil.rmtree(self.folder, ignore_errors=True)
                self.process = None
                self.start(*how)

    def stop(self) -> None:
        """End the server and every job that still runs. Without this they end with the workflow's process."""
        with self._changing:
            process, self.process = self.process, None
            if process is None:
                return
            os.environ.pop(VARIABLE, None)
            os.close(self.alive)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
