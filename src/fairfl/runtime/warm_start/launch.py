"""The server's life as the workflow sees it."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from fairfl.runtime.warm_start.client import VARIABLE

# OpenBLAS and jemalloc (in pyarrow) start threads when they are imported, and a process with threads must not fork.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
_ONE_THREAD["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
WORTH = 4  # jobs; for fewer the server's own start costs more than it saves


class Server:
    """Starts and ends the server of one workflow. Jobs find it through the environment."""

    command = [sys.executable, "-P", "-m", "fairfl.runtime.warm_start.server"]
    process: subprocess.Popen[bytes] | None = None

    def start(self, libraries: Sequence[str] = ()) -> None:
        """Returns at once: clients may connect from now on, and wait until the imports are done.

        `libraries` are what some of the workflow's models import beside what all jobs do. Where a server cannot be
        started a line says so, and jobs start plainly.
        """
        if sys.platform != "linux":
            return
        try:
            self._start(libraries)
        except OSError as error:
            print(f"no warm starts, each job imports everything itself: {error}", file=sys.stderr)

    def _start(self, libraries: Sequence[str]) -> None:
        self.folder = tempfile.mkdtemp(prefix="fairfl-")  # mode 0700: nobody else can connect
        address = os.path.join(self.folder, "socket")
        environment = os.environ | _ONE_THREAD
        watched, self.alive = os.pipe()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(address)
            listener.listen(1024)
            self.process = subprocess.Popen(
                [*self.command, str(listener.fileno()), str(watched), self.folder, *libraries],
                env=environment,
                pass_fds=(listener.fileno(), watched),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the clients, which pass it on
            )
        os.close(watched)
        os.environ[VARIABLE] = address

    def stop(self) -> None:
        """End the server and every job that still runs. Without this they end with the workflow's process."""
        if self.process is None:
            return
        os.environ.pop(VARIABLE, None)
        os.close(self.alive)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)
