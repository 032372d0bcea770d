"""Start servers (fairfl.runtime.warm_start.server) forked from one process that has their libraries: five seconds less.

Snakemake, where small_project.py runs it, starts this file in the place of the server. It asks that process to fork,
hands over its open files, and ends as the fork does.
"""

import array
import contextlib
import importlib
import os
import pickle
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

SERVER = "fairfl.runtime.warm_start.server"
LIBRARIES = ("jinja2", "pyarrow.parquet", "pydantic", "safetensors.torch", "seaborn", "torch", "yaml")
LIBRARIES += ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf")
# As jobs and their servers are started.
FIXED = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
FIXED |= {"JE_ARROW_MALLOC_CONF": "background_thread:false", "PYTHONHASHSEED": "0"}


def offer() -> None:
    """Begin to listen, and let whatever starts a server in this process or its forks ask there."""
    address = f"{tempfile.mkdtemp()}/socket"
    command = [sys.executable, "-P", __file__, address, SERVER]
    listening = subprocess.Popen(command, env=os.environ | FIXED, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    class Popen(subprocess.Popen):
        process = listening  # ends with this one, to whose end its input is bound

        def __init__(self, command, *rest, **options):
            if command[1:4] == ["-P", "-m", SERVER]:
                files = ",".join(map(str, (0, 1, 2, *options["pass_fds"])))
                command = [sys.executable, "-P", "-S", __file__, address, files, *command[3:]]
            super().__init__(command, *rest, **options)

    subprocess.Popen = Popen


def ask(address: str, files: list[int], arguments: list[str]) -> None:
    """End as the fork ends. It ends, too, if this process is killed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(address)
        request = pickle.dumps((files, arguments, dict(os.environ), os.getcwd()))
        connection.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])
        for file in files[3:]:
            os.close(file)
        code = os.waitstatus_to_exitcode(int(connection.recv(16) or 1))
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


def listen(address: str) -> None:
    """Fork for each request, until standard input ends."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen()
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    forked: dict[socket.socket, int] = {}
    while True:
        ready, _, _ = select.select([0, listener, woken, *forked], [], [])
        if 0 in ready:
            return shutil.rmtree(os.path.dirname(address))
        if woken in ready:
            woken.recv(4096)
            for connection, pid in list(forked.items()):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    with contextlib.suppress(OSError):
                        connection.send(str(status).encode())
                    del forked[connection]
                    connection.close()
        for connection in forked.keys() & set(ready):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(forked[connection], signal.SIGKILL)
        if listener in ready:
            for name in LIBRARIES:
                importlib.import_module(name)
            connection, _ = listener.accept()
            message, files, _, _ = socket.recv_fds(connection, 2**20, 64)
            pid = os.fork()
            if pid == 0:
                for inherited in (listener, woken, wake, connection, *forked):
                    inherited.close()
                become(files, *pickle.loads(message))
            forked[connection] = pid
            for file in files:
                os.close(file)


def become(files: list[int], numbers: list[int], arguments: list[str], environment: dict, folder: str) -> None:
    """Be `python -P -m <arguments>` with the files under the numbers that the arguments name."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    high = [os.dup2(file, 500 + place) for place, file in enumerate(files)]
    for file, number in zip(high, numbers, strict=True):
        os.dup2(file, number)
    for file in {*files, *high} - set(numbers):
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv[1:] = arguments[1:]
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    code = 1
    try:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        os._exit(code)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        listen(sys.argv[1])
    else:
        ask(sys.argv[1], [int(number) for number in sys.argv[2].split(",")], sys.argv[3:])
