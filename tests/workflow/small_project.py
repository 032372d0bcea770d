"""A small copy of the project that the tests may edit, and what its workflow would run."""

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.workflow.forks import PLAN, forks

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
        assert not check or done.returncode == 0, done.stdout[-4000:]
        return done

    def fairfl(self, command: str, *arguments: str, code: int = 0) -> str:
        """What `fairfl <command>` prints in the folder with the small selection."""
        words = ["fairfl", command, *arguments, "--config", *self.selection]
        done = forks()(self.folder, words, path=[self.folder / "src"])
        assert done.returncode == code, done.stdout[-4000:]
        return done.stdout

    def jobs(self, *arguments: str, config: Iterable[str] = (), path: Iterable[Path] = ()) -> dict[str, Job]:
        """The jobs that a dry-run plans."""
        done = forks()(self.folder, self._command("--dry-run", *arguments, config=config), path=path, **LINES)
        assert done.returncode == 0, done.stdout[-4000:]
        return jobs_in(done.stdout)

    def looked(self, config: Iterable[str] = (), path: Iterable[Path] = ()) -> str:
        """What a dry-run prints, and the plan of all its jobs (fairfl.workflow.plan)."""
        done = forks()(self.folder, self._command("--dry-run", config=config), PLAN, path=path, **LINES)
        assert done.returncode == 0, done.stdout[-4000:]
        return done.stdout

    def _command(self, *arguments: str, config: Iterable[str]) -> list[str]:
        return ["snakemake", "--cores", "2", *arguments, "--config", *self.selection, *config]

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
