"""The server's life as the workflow sees it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from fairfl.runtime.warm_start.client import VARIABLE

# OpenBLAS and jemalloc (in pyarrow) start threads when they are imported, and a process with threads must not fork.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
_ONE_THREAD["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
WORTH = 4  # jobs; for fewer the server's own start costs more than it saves


class StartServer:
    """Starts and ends the server of one workflow. Jobs find it through the environment."""

    command = [sys.executable, "-P", "-m", "fairfl.runtime.warm_start.server"]
    process: subprocess.Popen[bytes] | None = None

    def start(
        self,
        modules: Sequence[str] = (),
        say: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
    ) -> None:
        """Returns at once: clients may connect from now on, and wait until the imports are done.

        `modules` are imported beside the libraries that all jobs need. Where a server cannot be started a line is
        printed. Then, and once it is killed, jobs start plainly.
        """
        if sys.platform != "linux":
            return
        try:
            self.folder = tempfile.mkdtemp(prefix="fairfl-")  # mode 0700: nobody else can connect
            address = os.path.join(self.folder, "socket")
            watched, self.alive = os.pipe()
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(address)
                listener.listen(1024)
                files = watched, listener.fileno()
                self.process = subprocess.Popen(
                    [*self.command, *map(str, files), self.folder, json.dumps(modules)],
                    env=os.environ | _ONE_THREAD,
                    pass_fds=files,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is for the clients, which pass it on
                )
            os.close(watched)
            os.environ[VARIABLE] = address
        except OSError as error:
            say(f"no warm starts, each job imports everything itself: {error}")

    def stop(self) -> None:
        """End the server and every job that still runs. Without this they end with the workflow's process."""
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
