"""Processes that have libraries loaded and fork to run commands: in half of the time.

One has Snakemake loaded. Whatever it forks starts, in the place of fairfl.runtime.warm_start.server, this file, which
asks another process, one that has torch loaded, to fork, hands over its open files, and ends as the fork does.
"""

import array
import contextlib
import functools
import gc
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
from collections.abc import Iterable
from pathlib import Path
from subprocess import DEVNULL, PIPE

SERVER = "fairfl.runtime.warm_start.server"
OF_SERVERS = ("jinja2", "pyarrow.parquet", "pydantic", "safetensors.torch", "seaborn", "torch", "yaml")
OF_SERVERS += ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf")
OF_SNAKEMAKE = ("snakemake.cli", "grimp", "lark", "pandas", "pyarrow", "pydantic", "smart_open")
OF_SNAKEMAKE += ("snakemake_executor_plugin_slurm",)
# As jobs and their servers are started.
FIXED = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
FIXED |= {"JE_ARROW_MALLOC_CONF": "background_thread:false", "PYTHONHASHSEED": "0"}
PLAN = ["plan"]


class Forks:
    """A process that has libraries loaded, and forks of it. It ends with this one, to whose end its input is bound."""

    def __init__(self, libraries: Iterable[str], servers: "Forks | None" = None, **environment: str) -> None:
        """`servers`: whatever a fork of this one starts as a start server is a fork of that one."""
        self.address, self.servers = f"{tempfile.mkdtemp()}/socket", servers
        variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TMPDIR")} | environment
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.address)
            listener.listen()
            number = listener.fileno()
            command = [sys.executable, "-P", __file__, "listen", str(number), *libraries]
            self.process = subprocess.Popen(command, stdin=PIPE, stdout=DEVNULL, env=variables, pass_fds=[number])

    def __call__(
        self, folder: Path, *commands: Iterable[str], path: Iterable[Path] = (), **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """What the commands, `python -m <words>`, print in the folder, and the last exit status.

        One process runs all of them, until one fails. PLAN is the plan of the workflow that was parsed before it.
        """
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
        words, found = [list(words) for words in commands], ["", *map(str, path)]
        with tempfile.TemporaryFile() as said:
            files = [os.open(os.devnull, os.O_RDONLY), os.dup(said.fileno()), os.dup(said.fileno())]
            servers = self.servers.address if self.servers else ""
            code = ask(self.address, files, [0, 1, 2], words, found, variables, str(folder), servers)
            said.seek(0)
            return subprocess.CompletedProcess(commands, code, said.read().decode(errors="replace"))


@functools.cache
def forks() -> Forks:
    """One for all projects of this process."""
    return Forks(OF_SNAKEMAKE, Forks(OF_SERVERS, **FIXED))


def ask(address: str, files: list[int], *request) -> int:
    """Exit code of a fork that runs what is asked for. It is killed if this process is."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(address)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
        connection.sendmsg([pickle.dumps(request)], rights)
        for file in files:
            if file > 2:
                os.close(file)
        return os.waitstatus_to_exitcode(int(connection.recv(16) or 1))


def listen(listener: socket.socket, libraries: list[str]) -> None:
    """Fork for each request, until standard input ends."""
    forked: dict[int, tuple[socket.socket, int]] = {}  # what is ready when a fork has ended -> who asked for it, fork
    while True:
        ready, _, _ = select.select([0, listener, *forked, *(asking for asking, _ in forked.values())], [], [])
        if 0 in ready:
            return shutil.rmtree(os.path.dirname(listener.getsockname()))
        for end, (asking, pid) in list(forked.items()):
            if end in ready:
                with contextlib.suppress(OSError):
                    asking.send(str(os.waitpid(pid, 0)[1]).encode())
                del forked[end]
                os.close(end)
                asking.close()
            elif asking in ready:  # it was killed
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
        if listener in ready:
            load(libraries)
            asking, _ = listener.accept()
            message, files, _, _ = socket.recv_fds(asking, 2**20, 64)
            pid = os.fork()
            if pid == 0:
                for inherited in (listener, asking, *(other for other, _ in forked.values())):
                    inherited.close()
                return become(files, *pickle.loads(message))
            forked[os.pidfd_open(pid)] = asking, pid
            for file in files:
                os.close(file)


def load(libraries: list[str]) -> None:
    for name in libraries:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if "snakemake.cli" in libraries:
        sys.modules["snakemake.cli"].get_argument_parser()  # imports all plugins of Snakemake
        sys.modules["lark"].Lark('start: "a"')  # keeps the grammar of grammars


def become(
    files: list[int],
    numbers: list[int],
    commands: list[list[str]],
    path: list[str],
    environment: dict[str, str],
    folder: str,
    servers: str = "",
) -> None:
    """Be `python -m <words>` for each command, started in the folder with the files under these numbers."""
    os.setsid()
    signal.alarm(1800)  # a test never waits forever, but a busy machine is slow
    high = [os.dup2(file, 500 + place) for place, file in enumerate(files)]
    for file, number in zip(high, numbers, strict=True):
        os.dup2(file, number)
    for file in {*files, *high} - set(numbers):
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = path
    if servers:
        stand_in_for_servers(servers)
    for module, *arguments in commands:
        if [module] == PLAN:
            print_plan()
        else:
            sys.argv[1:] = arguments
            try:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            except SystemExit as end:
                if end.code:
                    raise
        sys.stdout.flush()


def stand_in_for_servers(address: str) -> None:
    """Whatever starts a server in this process gets a fork of the one at this address."""

    class Popen(subprocess.Popen):
        def __init__(self, command, *rest, **options):
            if command[1:4] == ["-P", "-m", SERVER]:
                files = ",".join(map(str, (0, 1, 2, *options["pass_fds"])))
                command = [sys.executable, "-P", "-S", __file__, "ask", address, files, *command[3:]]
            super().__init__(command, *rest, **options)

    subprocess.Popen = Popen


def print_plan() -> None:
    """The plan of the workflow that this process has parsed."""
    from fairfl.workflow.plan import decide, lines

    (session,) = (found for found in gc.get_objects() if type(found).__name__ == "Session" and hasattr(found, "graph"))
    print(*lines(session.rerun, decide(session.rerun)), sep="\n")


if __name__ == "__main__":
    _, what, where, *words = sys.argv
    if what == "listen":
        listen(socket.socket(fileno=int(where)), words)
    else:
        numbers = [int(number) for number in words[0].split(",")]
        path = os.environ["PYTHONPATH"].split(os.pathsep)
        code = ask(where, numbers, numbers, [words[1:]], path, dict(os.environ), os.getcwd())
        if code < 0:
            os.kill(os.getpid(), -code)
        sys.exit(code)
