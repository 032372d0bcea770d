"""Kills, damages and edits a workflow at random; in between it must finish equal to an undisturbed one."""

import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairfl.jobs import try_model
from fairfl.runtime import hashes
from fairfl.runtime.records import DAMAGED
from tests.workflow import faults
from tests.workflow.faults import CHECKPOINT, PATIENCE, Workflow, made_in, processes_in, same_in, signal_to
from tests.workflow.small_project import Project

Fault = tuple[str, str, float]
TARGETS = {"group": 45, "workflow": 20, "job": 15, "server": 8, "everything": 12}
SIGNALS = {"SIGKILL": 50, "SIGTERM": 25, "SIGINT": 25}
DAMAGES = {"flip": 40, "truncate": 20, "delete": 15, "date": 10, "half": 5, "output": 5, "forget": 5}
# Files that are no result of the undisturbed run, or change their names.
OTHERS = {".snakemake/**": 8, "results/**/checkpoint.pt": 8, "results/**/kept/**": 8, "results/**/.*": 4}
PARTS = ("results/tiny/records", "results/tiny/runs", "results/tiny/tidy", "results/tiny/eagle", "results/data")

# What an edit changes: file -> text in a line of it, and what to write instead to get other numbers.
EDITS = {
    "src/fairfl/algorithms/afl.py": ("old + config.eta_lambda * F", "old + 9 * config.eta_lambda * F"),
    "src/fairfl/algorithms/eagle.py": ("config.lam * K", "3 * config.lam * K"),
    "src/fairfl/simulation/simulation.py": ("self.run_round()\n", "self.run_round(); self.x = self.x * 1.0001\n"),
    "src/fairfl/jobs/collect.py": ('float_format="%.9g"', 'float_format="%.2g"'),
    "papers/eagle.yaml": ("eta_lambda: 0.1, start", "eta_lambda: 0.3, start"),
}
# A line before that one that lets a job fail; in the simulation after some rounds.
FAILING = {
    "raise": "raise RuntimeError('edited')",
    "killed": "__import__('os').kill(__import__('os').getpid(), 9)",
}


@dataclass
class Disturbance:
    """Start the workflow, wait until a phase is seen ("": none) and so many seconds more, and send a signal."""

    warm: bool  # jobs come from a start server
    phase: str
    seconds: float
    target: str  # group: Snakemake, shells and clients; workflow: Snakemake only; job; server; everything; "": none
    signal: str  # its name
    which: float  # of several jobs, as a share of their list
    file: str = ""  # edited when the phase is seen, without one before the start, until the workflow has ended
    kind: str = ""  # number: other results; raise, killed: a job that fails


@dataclass
class Finish:
    """Start the workflow, let it finish, and compare everything with the undisturbed one."""

    warm: bool


class Broken(AssertionError):
    """A promise was broken; says which, and all steps up to then."""


def edited(file: str, kind: str, text: str) -> str:
    """The text of one of EDITS after an edit of some kind."""
    old, new = EDITS[file]
    if kind == "number":
        return text.replace(old, new, 1)
    if file.endswith(".yaml"):
        return text.replace(old, "eta_lambda: [", 1)
    before, line, after = text.partition(next(line for line in text.splitlines() if old in line))
    indent = " " * (len(line) - len(line.lstrip()))
    condition = "if self.round == 300: " if "simulation" in file else ""
    return f"{before}{indent}{condition}{FAILING[kind]}\n{line}{after}"


def asks_again(workflow: Workflow) -> bool:
    """Whether a repaired file came out different, as seconds do, so that what reads it must run in another call."""
    return workflow.process.returncode != 0 and "must run after all, run again" in workflow.said()


class Drawn:
    """Random steps. They depend on the seed and on the results' names and makers only, so a seed replays them."""

    def __init__(self, seed: int, makers: dict[str, str]) -> None:
        self.draw = random.Random(seed)
        self.makers, self.names = makers, sorted(makers)

    def steps(self, kills: int) -> Iterator[Disturbance | Finish | Fault]:
        """Until that many kills were drawn; the last one finishes."""
        while kills > 0:
            for _ in range(self.draw.randint(2, 5)):
                step = self.disturbance()
                if step.phase:  # or nothing of it might run
                    rule = "train" if step.phase == CHECKPOINT else step.phase
                    made = [name for name in self.names if self.makers[name] == rule]
                    yield from (("delete", name, 0) for name in self.draw.sample(made, min(4, len(made))))
                yield step
                kills -= bool(step.target)
                yield from (self.damage() for _ in range(self.draw.choice([0, 0, 1, 2])))
            yield Finish(self.chance(0.75))
            yield from (self.damage() for _ in range(self.draw.choice([0, 1, 2, 4])))
            yield Finish(self.chance(0.75))
            forgotten = faults.MADE if self.chance(0.3) else [self.draw.choice(PARTS)]  # from nothing, or a part
            yield from (("forget", name, 0) for name in forgotten)
        yield Finish(True)

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def one_of(self, weights: dict[str, int]) -> str:
        return self.draw.choices(list(weights), list(weights.values()))[0]

    def disturbance(self) -> Disturbance:
        """A kill, an edit, or a kill after an edit; half of them in the middle of trainings."""
        phase = CHECKPOINT if self.chance(0.5) else self.draw.choice(["", *sorted(set(self.makers.values()))])
        is_long = phase in ("", "train", "local_optimum", CHECKPOINT)
        seconds = round(self.draw.uniform(0, 7 if not phase else 1 if is_long else 0.15), 3)
        file = kind = target = ""
        if self.chance(0.4):
            file, kind = self.draw.choice(list(EDITS)), self.draw.choice(["number", "number", *FAILING])
            kind = "raise" if "algorithms" in file and kind == "killed" else kind  # the plan calls hooks
        if not file or self.chance(0.4):
            target = self.one_of(TARGETS)
        number = "SIGKILL" if target == "everything" else self.one_of(SIGNALS)
        return Disturbance(
            self.chance(0.75), phase, seconds, target, number, round(self.draw.random(), 3), file, kind
        )  # fmt: skip

    def damage(self) -> Fault:
        """Of a file, which may be any of those that fit a pattern."""
        kind, name = self.one_of(DAMAGES), self.draw.choice(self.names)
        if kind == "forget":
            return "forget", ".snakemake", 0
        if kind == "output":
            return "junk", name, self.draw.choice([0, 1, 1000])
        if kind == "half":
            folder, _, name = name.rpartition("/")
            return "junk", f"{folder}/.{name}.{self.draw.randint(1, 4 << 20)}-{self.draw.randbytes(4).hex()}.tmp", 1000
        name = self.one_of({name: 72, **OTHERS})
        return kind, name, self.draw.choice([-10, 10]) if kind == "date" else self.draw.random()


class Soak:
    """A project that has run undisturbed, a copy of it to torment, and what happened to that so far."""

    def __init__(self, undisturbed: Project, folder: Path, seed: int, say: Callable[[str], None] = print) -> None:
        self.expected, self.names = same_in(undisturbed), set(made_in(undisturbed))
        self.drawn = Drawn(seed, faults.makers_in(undisturbed))
        self.project = faults.from_nothing(undisturbed, folder)
        self.seed, self.say = seed, say
        self.history: list[Disturbance | Finish | Fault] = []
        self.planted: set[str] = set()
        self.counts: Counter[str] = Counter()  # what happened -> how often
        self.kills = self.finished = 0

    def run(self, kills: int, until: float = float("inf")) -> None:
        """Take random steps until that many kills or that time (monotonic). Raises Broken."""
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            before, os.environ["TMPDIR"] = os.environ.get("TMPDIR"), folder  # short: a socket's path has 107 letters
            self.sockets = Path(folder)
            try:
                for step in self.drawn.steps(kills):
                    if time.monotonic() > until:
                        self.take(Finish(True))
                        break
                    self.take(step)
            finally:
                faults.stop_all(self.project.folder)
                os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)

    def take(self, step: Disturbance | Finish | Fault) -> None:
        if isinstance(step, tuple) and "*" in step[1]:
            step = self.resolved(step)
        self.history.append(step)
        begun = time.monotonic()
        if isinstance(step, Disturbance):
            happened = self.disturb(step)
            self.say(f"{len(self.history):4}  after {time.monotonic() - begun:.1f} s: {happened}")
        elif isinstance(step, Finish):
            self.finish(step)
            self.say(f"{len(self.history):4}  finished equal in {time.monotonic() - begun:.1f} s; {self.kills} kills")
        elif faults.befall(self.project.folder, step):
            self.counts[f"{step[0]}: {self.drawn.makers.get(step[1], 'others')}"] += 1
            if step[0] == "junk" and step[1] not in self.names:
                self.planted.add(step[1])

    def resolved(self, fault: Fault) -> Fault:
        """The fault with one of the files that fit its pattern; by its number, so that it can be replayed."""
        name, pattern, number = fault
        files = sorted(path for path in self.project.folder.glob(pattern) if path.is_file())
        path = random.Random(number).choice(files).relative_to(self.project.folder) if files else pattern
        return name, str(path), number

    def start(self, warm: bool) -> Workflow:
        return faults.start(self.project, "--quiet", "rules", "host", config=(f"warm_start={str(warm).lower()}",))

    def disturb(self, step: Disturbance) -> str:
        """What happened."""
        path = self.project.folder / (step.file or "config.yaml")
        text = path.read_text()
        changed = edited(step.file, step.kind, text) if step.file else text
        if not step.phase:
            path.write_text(changed)
        workflow = self.start(step.warm)
        try:
            if step.phase:
                workflow.wait_for(lambda: workflow.seen(step.phase))
                path.write_text(changed)
            over = time.monotonic() + (step.seconds if step.target else PATIENCE)
            workflow.wait_for(lambda: time.monotonic() > over)
            hit, running = workflow.running(), ", ".join(workflow.phases()) or "between jobs"
            for pid in self.targets(step, workflow.pid) if hit and step.target else ():
                signal_to(pid, signal.Signals[step.signal])
            if not workflow.ended():
                raise self.broken(f"Snakemake does not end within {PATIENCE:.0f} s", workflow)
        finally:
            path.write_text(text)
        code = workflow.process.returncode
        if hit:
            self.kills += 1
            self.counts[f"killed during {running}"] += 1
        elif asks_again(workflow):
            pass
        elif step.file and not step.phase and (code == 0) != (step.kind == "number"):
            raise self.broken(f"{step.kind} in {step.file}: exit code {code}", workflow)
        elif not step.file:
            self.must_have_succeeded(workflow)
        if hit and step.target == "everything":  # nobody is left who could
            for folder in self.sockets.glob("fairfl-*"):
                shutil.rmtree(folder, ignore_errors=True)  # a server that was just starting does it, too
        workflow.output.close()
        edit = f"{step.kind} edited into {step.file}, " if step.file else ""
        return f"{edit}{f'{step.signal} to {step.target} during {running}' if hit else f'ended by itself: {code}'}"

    def targets(self, step: Disturbance, workflow: int) -> list[int]:
        """Processes to signal; negative: a group."""
        folder = self.project.folder
        if step.target == "everything":
            return list(processes_in(folder))
        servers = faults.servers_in(folder) if step.target in ("job", "server") else {}
        jobs = sorted([*faults.running_in(folder), *(job for forked in servers.values() for job in forked)])
        if step.target == "server" and servers:
            return [min(servers)]
        if step.target == "job" and jobs:
            return [jobs[int(step.which * len(jobs))]]
        return [workflow if step.target == "workflow" else -workflow]

    def finish(self, step: Finish) -> None:
        self.undisturbed(step.warm)
        if not faults.gone(self.project.folder):
            raise self.broken(f"Snakemake has ended, but this still runs: {processes_in(self.project.folder)}")
        found, files = same_in(self.project), made_in(self.project)
        if differ := [name for name, content in self.expected.items() if found.get(name) != content]:
            raise self.broken(f"not equal to the undisturbed run: {', '.join(differ)}")
        left = [*(files.keys() - self.names - self.planted - {str(try_model.MEMORY)}), *self.sockets.glob("fairfl-*")]
        if left := [str(name) for name in left if "/kept/" not in str(name) and not str(name).endswith(DAMAGED)]:
            raise self.broken(f"left behind: {', '.join(left)}")
        dates = {name: path.stat().st_mtime_ns for name, path in files.items()}
        said = self.undisturbed(step.warm)
        now = {name: path.stat().st_mtime_ns for name, path in made_in(self.project).items()}
        # What was changed less than a second before it was read is not remembered until the next call.
        memories = {str(hashes.OUTPUTS), str(hashes.MEMORY)}
        changed = [name for name, date in now.items() if dates.get(name) != date and name not in memories]
        if "Nothing to be done" not in said or changed:
            raise self.broken(f"the second call is no no-op: {', '.join(changed)}\n{said}")
        for path in [
            *self.project.folder.glob(f"results/**/*{DAMAGED}"),
            *map(self.project.folder.joinpath, self.planted),
        ]:
            path.unlink(missing_ok=True)
        self.planted.clear()
        self.project.fairfl("verify")  # fails on anything damaged or foreign
        self.finished += 1

    def undisturbed(self, warm: bool) -> str:
        """What Snakemake says if nobody disturbs it, asked again if it says so."""
        workflow = self.start(warm)
        if not workflow.ended():
            raise self.broken("the workflow does not end", workflow)
        if asks_again(workflow):
            return self.undisturbed(warm)
        self.must_have_succeeded(workflow)
        return workflow.said()

    def must_have_succeeded(self, workflow: Workflow) -> None:
        if code := workflow.process.returncode:
            raise self.broken(f"failed ({code}) though nothing was killed", workflow)

    def broken(self, why: str, workflow: Workflow | None = None) -> Broken:
        """The error, with all that is needed to see it again."""
        steps = "\n".join(map(repr, self.history))
        said = [workflow.said()] if workflow else []
        where = f"seed {self.seed}, {self.kills} kills; the project is left in {self.project.folder}"
        return Broken("\n".join(["the steps were:", steps, *said, where, f"broken: {why}"]))

    def report(self) -> str:
        """What was hit how often."""
        lines = [f"{count:4} x {what}" for what, count in sorted(self.counts.items())]
        return "\n".join([*lines, f"{self.kills} kills; finished equal {self.finished} times"])
