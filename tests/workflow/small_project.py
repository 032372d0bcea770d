"""A small copy of the project that the tests may edit, and what its workflow would run."""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

TINY = """
scale: tiny
description: Smallest thing that exercises every rule.
patches:
  - match: ["*"]
    set: {rounds: 3, evaluate_every: 1, seeds: [0]}
    why: test
  - match: ["eagle_*"]
    set: {local_optimum.max_steps: 3}
    why: test
  - match: ["eagle_emnist_*"]
    set: {data: {name: digits}, samples: 120, clients: 2, clients_per_round: 2}
    why: test
  - match: ["fedeba_fashion_mnist_mlp"]
    set:
      data: {name: digits}
      clients: 4
      clients_per_round: 4
      model: {name: mlp, hidden: [8]}
      surrogate.epochs: 2
      surrogate.every: 1
    why: test
  - match: ["focus_rotated_mnist_*"]
    set:
      data: {name: digits}
      model: {name: mlp, hidden: [8]}
      split: {train: 0.8, validation: 0.0, test: 0.2, order: shuffled}
      timing: {rounds: 2, inferences: 2, metrics: 2}
    why: test
  - match: ["vred_*"]
    set:
      data: {name: digits}
      samples: 240
      model: {name: logistic_regression}
      partition: {name: label_shards}
      clients: 3
      clients_per_round: 3
      loss: cross_entropy
      batch_size: 8
      tuning.grid: {learning_rate: [0.05, 0.2]}
      tuning.algorithms: {vred: {beta: [0.5]}}
      tuning.rounds: 2
    why: test
"""
SELECTION = ["scale=tiny", "papers=eagle", "artifacts=eagle_table1,eagle_figure2,eagle_figure3,eagle_table3"]
FOLDERS = ("rules", "papers", "scales", "envs", "profiles", "src")
FILES = {"Snakefile": "Snakefile", "tests/config.yaml": "config.yaml"}  # as they are committed

_HEAD = re.compile(r"(?:local)?rule (\w+):")
_TOTAL = re.compile(r"^total +(\d+)$", re.M)
END = "\0"
PLAN = ["plan"]
LINES = {"FAIRFL_DISPLAY": "snakemake"}  # Snakemake's own lines, which `jobs_in` reads
_LINE = re.compile(r"^(run|keep) +(\S+) +(.+)$", re.M)


@dataclass(frozen=True)
class Job:
    """A job as Snakemake prints it; named like its log, which begins with its rule: `collect/<setting>`."""

    name: str
    rule: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    log: str

    @property
    def record(self) -> str:
        return re.sub(r"/logs/(.*)\.log$", r"/records/\1.json", self.log)


def jobs_in(text: str) -> dict[str, Job]:
    """Every job in what a dry-run or a run has printed, by name; not the targets, which do nothing."""
    blocks: list[tuple[str, dict[str, str]]] = []
    for line in text.splitlines():
        if head := _HEAD.fullmatch(line):
            blocks.append((head[1], {}))
        elif blocks and line.startswith("    "):
            key, _, value = line.strip().partition(": ")
            blocks[-1][1].setdefault(key, value)
    counted = _TOTAL.search(text)
    assert len(blocks) == (int(counted[1]) if counted else 0), text[-4000:]

    def files(said: str) -> tuple[str, ...]:
        return tuple(path for path in said.split(", ") if path)

    jobs = {}
    for rule, says in blocks:
        if outputs := files(says.get("output", "")):
            name = says["log"].partition("/logs/")[2].removesuffix(".log")
            job = Job(name, rule, files(says.get("input", "")), outputs, says["log"])
            assert job.name not in jobs
            jobs[job.name] = job
    return jobs


def plan_in(text: str) -> dict[str, str]:
    """What `fairfl plan` has printed: job -> why it would run, "" if it would not."""
    return {name: "" if verb == "keep" else why for verb, name, why in _LINE.findall(text)}


class Forks:
    """A process that has Snakemake loaded and runs commands in a fork of itself: in half of the time."""

    def __init__(self) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TMPDIR")}  # a test's own
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        atexit.register(self.process.communicate)  # an empty input ends it

    def __call__(
        self, folder: Path, *commands: Iterable[str], path: Iterable[Path] = (), **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """What the commands, `python -m <words>`, print in the folder, each one up to `END`, and the last exit status.

        One process runs all of them, until one fails. PLAN is the plan of the workflow that was parsed before it.
        """
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
        request = [str(folder), [list(words) for words in commands], [str(entry) for entry in path], variables]
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        code, text = json.loads(self.process.stdout.readline())
        return subprocess.CompletedProcess(commands, code, text)


@functools.cache
def forks() -> Forks:
    """One for all projects of this process."""
    return Forks()


class Project:
    """A copy of the workflow and its package in a folder of its own."""

    selection: tuple[str, ...] = tuple(SELECTION)

    def __init__(self, root: Path, folder: Path, scale: str = TINY, selection: Iterable[str] = SELECTION) -> None:
        self.folder = folder
        ignore = shutil.ignore_patterns("*.pyc.*")  # bytecode goes by the sources' times, what is half written does not
        for name in FOLDERS:
            shutil.copytree(root / name, folder / name, ignore=ignore)
        for name, place in FILES.items():
            shutil.copy(root / name if (root / name).exists() else root / place, folder / place)
        (folder / "scales" / "tiny.yaml").write_text(scale)
        self.select(selection)

    def select(self, selection: Iterable[str]) -> None:
        """Let this be the whole of the project: what `--config` says beyond config.yaml has a page of its own."""
        self.selection = tuple(selection)
        path = self.folder / "config.yaml"
        text = path.read_text()
        for key, value in (part.split("=", 1) for part in self.selection):
            if key in ("papers", "artifacts", "settings", "algorithms", "seeds"):
                text, count = re.subn(rf"^{key}:.*$", f"{key}: [{value}]", text, flags=re.M)
                assert count == 1, key
        path.write_text(text)

    def copy(self, folder: Path) -> "Project":
        """With everything: results, records, what Snakemake remembers."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project.at(folder, self.selection)

    @classmethod
    def at(cls, folder: Path, selection: Iterable[str] = SELECTION) -> "Project":
        """The project that is there."""
        project = cls.__new__(cls)
        project.folder, project.selection = folder, tuple(selection)
        return project

    @cached_property
    def _before(self) -> dict[Path, tuple[bytes, int] | None]:
        """Content and time of the files that were changed, None for those that were not there."""
        return {}

    # -- Snakemake ----------------------------------------------------------------------------
    def snakemake(self, *arguments: str, config: tuple[str, ...] = (), check: bool = True, **environment: str):
        """Run Snakemake in the folder with the small selection; returns the finished process."""
        done = forks()(self.folder, self._command(*arguments, config=config), **environment)
        done.stdout = done.stdout.replace(END, "")
        assert not check or done.returncode == 0, done.stdout[-4000:]
        return done

    def fairfl(self, command: str, *arguments: str, code: int = 0) -> str:
        """What `fairfl <command>` prints in the folder with the small selection."""
        words = ["fairfl", command, *arguments, "--config", *self.selection]
        done = forks()(self.folder, words, path=[self.folder / "src"])
        assert done.returncode == code, done.stdout[-4000:]
        return done.stdout.replace(END, "")

    def jobs(self, *arguments: str, config: Iterable[str] = (), path: Iterable[Path] = ()) -> dict[str, Job]:
        """The jobs that a dry-run plans."""
        done = forks()(self.folder, self._command("--dry-run", *arguments, config=config), path=path, **LINES)
        assert done.returncode == 0, done.stdout[-4000:]
        return jobs_in(done.stdout.replace(END, ""))

    def looked(self, config: Iterable[str] = (), path: Iterable[Path] = ()) -> tuple[str, str]:
        """What a dry-run prints, and the plan of all its jobs (fairfl.workflow.plan)."""
        done = forks()(self.folder, self._command("--dry-run", config=config), PLAN, path=path, **LINES)
        assert done.returncode == 0, done.stdout[-4000:]
        dry_run, plan, _ = done.stdout.split(END)
        return dry_run, plan

    def _command(self, *arguments: str, config: Iterable[str]) -> list[str]:
        return ["snakemake", "--cores", "2", *arguments, "--config", *self.selection, *config]

    def planned(self, *config: str) -> set[str]:
        """Logs of the jobs that a dry-run plans: a name per job that holds rule and wildcards."""
        found = jobs_in(self.snakemake("--dry-run", config=config, **LINES).stdout)
        return {job.log.removeprefix("results/") for job in found.values()}

    # -- files --------------------------------------------------------------------------------
    def write(self, path: str | Path, content: str | bytes | None) -> None:
        """Replace a file, or delete it (None); `undo` brings the old one back."""
        file = self.folder / path
        old = (file.read_bytes(), file.stat().st_mtime_ns) if file.exists() else None
        self._before.setdefault(file, old)
        if content is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.folder / path).read_text()
        assert old in text, f"{old!r} is not in {path}"
        self.write(path, text.replace(old, new, 1))

    def append(self, path: str, more: str = "") -> None:
        """Write more behind what is there, if anything is: a statement, or a line in what is no module."""
        file = self.folder / path
        more = more or ("\n_EDIT = 1\n" if path.endswith(".py") else "\n")
        self.write(path, (file.read_text() if file.exists() else "") + more)

    def undo(self) -> None:
        """Everything that `write` and `edit` have changed is as it was, times included."""
        for file, old in self._before.items():
            file.unlink(missing_ok=True)
            if old is not None:
                file.write_bytes(old[0])
                os.utime(file, ns=(old[1], old[1]))
        self._before.clear()

    def results(self, *suffixes: str) -> dict[str, bytes]:
        """Contents of the files with these suffixes below the results; not of the copies of the code."""
        found = [path for path in self.folder.glob("results/**/*") if ".code" not in path.parts]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found if path.suffix in suffixes}


def become(folder: str, commands: list[list[str]], path: list[str], environment: dict[str, str]) -> None:
    """Be `python -m <words>`, started in the folder, for each command."""
    signal.alarm(1800)  # a test never waits forever, but a busy machine is slow
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:1] = ["", *path]
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
        print(end=END, flush=True)


def print_plan() -> None:
    """The plan of the workflow that this process has parsed."""
    from fairfl.workflow.plan import lines

    (session,) = (found for found in gc.get_objects() if type(found).__name__ == "Session" and hasattr(found, "graph"))
    print(*lines(session.rerun), sep="\n")


def serve() -> None:
    """One request per line of the input; one exit status and text per line of the output."""
    libraries = ("grimp", "lark", "pandas", "pyarrow", "pydantic", "smart_open", "snakemake_executor_plugin_slurm")
    for name in ("snakemake.cli", *libraries):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    importlib.import_module("snakemake.cli").get_argument_parser()  # imports all plugins of Snakemake
    importlib.import_module("lark").Lark('start: "a"')  # keeps the grammar of grammars
    if sys.platform == "linux":  # elsewhere there are no servers
        preloaded.offer()
    for line in sys.stdin:
        with tempfile.TemporaryFile() as said:
            pid = os.fork()
            if pid == 0:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                for stream in (1, 2):
                    os.dup2(said.fileno(), stream)
                become(*json.loads(line))
                sys.exit()
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            said.seek(0)
            print(json.dumps([code, said.read().decode(errors="replace")]), flush=True)


if __name__ == "__main__":
    import preloaded  # beside this file

    serve()
