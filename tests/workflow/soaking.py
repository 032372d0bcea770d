"""Kills, damages and edits a workflow at random; in between it must finish equal to an undisturbed one."""

import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairfl.planning import trial
from fairfl.runtime.records import DAMAGED
from tests.workflow import faults
from tests.workflow.faults import PATIENCE, WRITING, Workflow, made_by, made_in, processes_in, same_in, signal_to
from tests.workflow.small_project import Project

Fault = tuple[str, str, float]
TARGETS = {"group": 45, "workflow": 20, "job": 15, "server": 8, "everything": 12}
SIGNALS = {"SIGKILL": 50, "SIGTERM": 25, "SIGINT": 25}
DAMAGES = {"flip": 40, "truncate": 20, "delete": 15, "date": 10, "half": 5, "output": 5, "forget": 5}
# Files that are no result of the undisturbed run, or change their names.
OTHERS = {".snakemake/**": 8, "results/**/checkpoint.pt": 8, "results/**/kept/**": 8, "results/**/.*": 4}
PARTS = ("results/tiny/records", "results/tiny/runs", "results/tiny/tidy", "results/tiny/eagle", "results/data")
INSIDE = (WRITING, "checkpoint")  # phases of a training that has done some rounds

# What an edit changes: file -> text in a line of it, and what to write instead to get other numbers.
EDITS = {
    "src/fairfl/algorithms/afl.py": ("old + config.eta_lambda * F", "old + 9 * config.eta_lambda * F"),
    "src/fairfl/algorithms/eagle.py": ("config.lam * K", "3 * config.lam * K"),
    "src/fairfl/simulation/simulation.py": ("self.run_round()\n", "self.run_round(); self.x = self.x * 1.0001\n"),
    "src/fairfl/jobs/collect.py": ('float_format="%.9g"', 'float_format="%.2g"'),
    "papers/eagle.yaml": ("eta_lambda: 0.1, start", "eta_lambda: 0.3, start"),
}
# Lines before that one that let a job fail; in the simulation after some rounds.
FAILING = {
    "raise": "raise RuntimeError('edited')",
    "syntax": "edited = (",
    "killed": "__import__('os').kill(__import__('os').getpid(), 9)",
}


@dataclass
class Kill:
    """Start the workflow, wait until a phase is seen ("": none) and so many seconds more, and send a signal."""

    warm: bool  # jobs come from a start server
    phase: str
    seconds: float
    target: str  # group: Snakemake, shells and clients; workflow: Snakemake only; job; server; everything
    number: str  # the signal's name
    which: float  # of several jobs, as a share of their list
    settle: bool  # wait until nothing runs any more before what comes next
    patience: float  # seconds that the workflow may go on after a job or the server was hit


@dataclass
class Finish:
    """Start the workflow, let it finish, and compare everything with the undisturbed one."""

    warm: bool


@dataclass
class Edit:
    """Edit a file before the workflow starts (phase "") or once a phase is seen, and take that back later."""

    warm: bool
    file: str
    kind: str  # number: other results; raise, syntax, killed: a job that fails
    phase: str
    seconds: float  # until it is taken back, if the workflow has not ended before
    kill: bool  # everything, just before that


Step = Kill | Finish | Edit | Fault


class Broken(AssertionError):
    """A promise was broken; says which, and all steps up to then."""


def edited(file: str, kind: str, text: str) -> str:
    """The text of one of EDITS after an edit of some kind."""
    old, new = EDITS[file]
    start = text.rindex("\n", 0, text.index(old)) + 1
    if kind == "number":
        return text.replace(old, new, 1)
    if file.endswith(".yaml"):
        return text.replace(old, "eta_lambda: [", 1)
    indent = " " * (len(text[start:]) - len(text[start:].lstrip()))
    condition = "if self.round == 300: " if "simulation" in file and kind != "syntax" else ""
    return f"{text[:start]}{indent}{condition}{FAILING[kind]}\n{text[start:]}"


class Drawn:
    """Random steps. They depend on the seed and on the names of the results only, so a seed replays them."""

    def __init__(self, seed: int, names: Iterable[str]) -> None:
        self.draw = random.Random(seed)
        self.names = sorted(name for name in names if name.startswith("results/"))

    def steps(self, kills: int, until: float = float("inf")) -> Iterator[Step]:
        """Until that many kills were drawn or the time (monotonic) is over; the last one finishes."""
        for step in self.rounds(kills):
            if time.monotonic() > until:
                break
            yield step
        yield Finish(True)

    def rounds(self, kills: int) -> Iterator[Step]:
        """Until that many kills were drawn."""
        while kills > 0:
            for _ in range(self.draw.randint(2, 5)):
                if self.chance(0.75):
                    yield from self.kill()
                    kills -= 1
                else:
                    yield self.edit()
                for _ in range(self.draw.choice([0, 0, 1, 2])):
                    yield self.damage()
            yield Finish(self.chance(0.75))
            for _ in range(self.draw.choice([0, 1, 2, 4])):
                yield self.damage()
            yield self.edit() if self.chance(0.5) else Finish(self.chance(0.75))
            yield from self.start_over()

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def one_of(self, weights: dict[str, int]) -> str:
        return self.draw.choices(list(weights), list(weights.values()))[0]

    def kill(self) -> Iterator[Step]:
        """A kill; before one that waits for a phase, some results of that phase are removed."""
        warm, target, phase = self.chance(0.75), self.one_of(TARGETS), ""
        if target == "server" and not warm:
            target = "group"
        seconds = self.draw.uniform(0, 7)
        if self.chance(0.5):  # in the middle of trainings
            phase, seconds = self.draw.choice(INSIDE), self.draw.uniform(0, 0.6)
            target = "everything" if phase == WRITING and self.chance(0.7) else target
        elif self.chance(0.7):
            phase = self.draw.choice(sorted({made_by(name) for name in self.names} - {""}))
            seconds = self.draw.uniform(0, {"train": 1.5, "local optimum": 0.5}.get(phase, 0.15))
        made = [name for name in self.names if phase and made_by(name) == ("train" if phase in INSIDE else phase)]
        yield from (("delete", name, 0) for name in self.draw.sample(made, min(4, len(made))))
        number = "SIGKILL" if target == "everything" else self.one_of(SIGNALS)
        which, settle, patience = self.draw.random(), self.chance(0.4), self.draw.uniform(0, 4)
        yield Kill(warm, phase, round(seconds, 3), target, number, round(which, 3), settle, round(patience, 3))

    def edit(self) -> Edit:
        file = self.draw.choice(list(EDITS))
        kind = self.draw.choice(["number", "number", "number", *FAILING])
        if kind == "killed" and "algorithms" in file:
            kind = "raise"  # the plan calls hooks
        phase = self.draw.choice(["", "local optimum", "train", *INSIDE])
        seconds, kill = self.draw.uniform(0, 3) if phase or self.chance(0.5) else PATIENCE, self.chance(0.4)
        return Edit(self.chance(0.75), file, kind, phase, round(seconds, 3), kill)

    def start_over(self) -> Iterator[Fault]:
        """From nothing, or without some results."""
        if self.chance(0.3):
            yield from (("forget", name, 0) for name in faults.MADE)
        else:
            yield "forget", self.draw.choice(PARTS), 0

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
        numbers = {"flip": self.draw.random(), "truncate": self.draw.random(), "date": self.draw.choice([-10, 10])}
        return kind, name, numbers.get(kind, self.draw.random())


class Soak:
    """A project that has run undisturbed, a copy of it to torment, and what happened to that so far."""

    def __init__(self, undisturbed: Project, folder: Path, seed: int, say: Callable[[str], None] = print) -> None:
        self.expected, self.names = same_in(undisturbed), set(made_in(undisturbed))
        self.project = faults.from_nothing(undisturbed, folder)
        self.seed, self.say = seed, say
        self.history: list[Step] = []
        self.planted: set[str] = set()
        self.counts: Counter[tuple[str, str]] = Counter()  # (what: kill, during, edit, damage; and how) -> how often
        self.finished = self.judged = 0
        self.whole = False  # it has just finished, nothing has happened since

    @property
    def kills(self) -> int:
        return self.count("kill")

    def count(self, what: str, *how: str) -> int:
        """How often something happened; in some ways only."""
        return sum(count for (kind, way), count in self.counts.items() if kind == what and (not how or way in how))

    def run(self, steps: Iterable[Step]) -> None:
        """Take these steps. Raises Broken."""
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            before, os.environ["TMPDIR"] = os.environ.get("TMPDIR"), folder  # short: a socket's path has 107 letters
            self.sockets = Path(folder)
            try:
                for step in steps:
                    self.take(step)
            finally:
                faults.stop_all(self.project.folder)
                os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)

    def drawn(self, kills: int, until: float = float("inf")) -> Iterator[Step]:
        """Random steps by the seed."""
        return Drawn(self.seed, self.names).steps(kills, until)

    def take(self, step: Step) -> None:
        if isinstance(step, tuple) and "*" in step[1]:
            step = self.resolved(step)
        self.history.append(step)
        if isinstance(step, Kill):
            self.kill(step)
        elif isinstance(step, Finish):
            self.finish(step)
        elif isinstance(step, Edit):
            self.edit(step)
        elif faults.befall(self.project.folder, step):
            self.counts["damage", f"{step[0]} {self.described(step[1])}"] += 1
            if step[0] == "junk" and step[1] not in self.names:
                self.planted.add(step[1])
        self.whole = isinstance(step, Finish)

    def resolved(self, fault: Fault) -> Fault:
        """The fault with one of the files that fit its pattern; by its number, so that it can be replayed."""
        name, pattern, number = fault
        files = sorted(path for path in self.project.folder.glob(pattern) if path.is_file())
        path = random.Random(number).choice(files).relative_to(self.project.folder) if files else pattern
        return name, str(path), number

    def described(self, name: str) -> str:
        """The kind of a file."""
        kept = "kept" if "/kept/" in name else "a checkpoint" if name.endswith("checkpoint.pt") else ""
        return kept or made_by(name) or ("a record" if "/records/" in name else "others")

    # -- doing it -----------------------------------------------------------------------------
    def started(self, warm: bool) -> Workflow:
        return faults.start(self.project, "--quiet", "rules", "host", config=(f"warm_start={str(warm).lower()}",))

    def kill(self, step: Kill) -> None:
        begun = time.monotonic()
        workflow = self.started(step.warm)
        targets, phases = self.moment(step, workflow)
        if not workflow.running():
            self.say(f"{len(self.history):4}  ended before it was killed")
            self.must_have_succeeded(workflow)
            return
        for pid in targets:
            signal_to(pid, signal.Signals[step.number])
        lasts = step.target in ("job", "server") and not workflow.ended(step.patience)
        if lasts:
            signal_to(-workflow.pid, signal.SIGKILL)
        if step.target == "everything" or (step.target == "server" and lasts):  # nobody is left who could
            for folder in self.sockets.glob("fairfl-*"):
                shutil.rmtree(folder)
        if not workflow.ended():
            raise self.broken(f"Snakemake does not end {PATIENCE:.0f} s after {step.number}", workflow)
        phases = phases or ["between jobs"]
        self.counts.update(("during", phase) for phase in phases)
        self.counts["kill", f"{step.number} to {step.target}"] += 1
        self.say(
            f"{len(self.history):4}  {step.number} to {step.target} after {time.monotonic() - begun:.1f} s"
            f" (asked for {step.phase or 'a time'}): {', '.join(phases)}{'' if step.warm else '; started plainly'}"
        )
        workflow.output.close()
        if step.settle:
            self.must_be_gone()

    def edit(self, step: Edit) -> None:
        path = self.project.folder / step.file
        text, before = path.read_text(), same_in(self.project) if self.whole else {}
        if not step.phase:
            path.write_text(edited(step.file, step.kind, text))
        workflow = self.started(step.warm)
        try:
            if step.phase:
                workflow.wait_for(lambda: workflow.seen(step.phase))
                path.write_text(edited(step.file, step.kind, text))
            killed = not workflow.ended(step.seconds) and step.kill
            if killed:
                for pid in processes_in(self.project.folder):
                    signal_to(pid, signal.SIGKILL)
            lasted = not workflow.running()
        finally:
            path.write_text(text)
        if not workflow.ended():
            raise self.broken("the workflow does not end", workflow)
        code = workflow.process.returncode
        if not step.phase and lasted and not killed and (code == 0) != (step.kind == "number"):
            raise self.broken(f"{step.kind} in {step.file}: exit code {code}", workflow)
        if killed:  # nobody was left who could
            for folder in self.sockets.glob("fairfl-*"):
                shutil.rmtree(folder)
        elif step.kind != "number":
            after = same_in(self.project)
            if lost := [name for name, content in before.items() if after.get(name) != content]:
                raise self.broken(f"lost by a job that fails: {', '.join(lost)}", workflow)
            self.judged += bool(before)
        when = f"{'while ' + step.phase if step.phase else 'before the start'}{', then killed' if killed else ''}"
        self.counts["edit", f"{step.kind}, {when}"] += 1
        self.say(f"{len(self.history):4}  {step.kind} edited into {step.file} {when}: exit code {code}")
        workflow.output.close()
        self.must_be_gone()

    def moment(self, step: Kill, workflow: Workflow) -> tuple[list[int], list[str]]:
        """Wait until it is time for a kill; processes to signal (negative: a group), and what the jobs do now."""
        if step.phase == WRITING:  # so short that nothing may come between seeing it and the signal
            targets: list[int] = []

            def writes() -> bool:
                targets[:] = self.targets(step, workflow.pid)
                return workflow.seen(WRITING)

            workflow.wait_for(writes, pause=0)
            return targets, ["train", WRITING]
        if step.phase:
            workflow.wait_for(lambda: workflow.seen(step.phase))
        over = time.monotonic() + step.seconds
        workflow.wait_for(lambda: time.monotonic() > over)
        return self.targets(step, workflow.pid), workflow.phases()

    def targets(self, step: Kill, workflow: int) -> list[int]:
        folder = self.project.folder
        if step.target == "everything":
            return list(processes_in(folder))
        servers = faults.servers_in(folder) if step.target in ("job", "server") else {}
        if step.target == "server" and servers:
            return [min(servers)]
        if step.target == "job":
            jobs = sorted([*faults.running_in(folder), *(job for forked in servers.values() for job in forked)])
            if jobs:
                return [jobs[int(step.which * len(jobs))]]
        return [workflow if step.target == "workflow" else -workflow]

    def finish(self, step: Finish) -> None:
        begun = time.monotonic()
        self.undisturbed(step.warm)
        self.must_be_gone()
        found = same_in(self.project)
        if differ := [name for name, content in self.expected.items() if found.get(name) != content]:
            raise self.broken(f"not equal to the undisturbed run: {', '.join(differ)}")
        files = made_in(self.project)
        left = [
            *sorted(set(files) - self.names - self.planted - {str(trial.MEMORY)}),
            *map(str, self.sockets.glob("fairfl-*")),
        ]
        left = [name for name in left if "/kept/" not in name and not name.endswith(DAMAGED)]
        if left:
            raise self.broken(f"left behind: {', '.join(left)}")
        dates = {name: path.stat().st_mtime_ns for name, path in files.items()}
        said = self.undisturbed(step.warm)
        changed = [name for name, path in made_in(self.project).items() if dates.get(name) != path.stat().st_mtime_ns]
        if "Nothing to be done" not in said or changed:
            raise self.broken(f"the second call is no no-op: {', '.join(changed)}\n{said}")
        for path in self.project.folder.glob(f"results/**/*{DAMAGED}"):
            path.unlink()
        for name in self.planted:
            (self.project.folder / name).unlink(missing_ok=True)
        self.planted.clear()
        self.project.fairfl("verify")  # fails on anything damaged or foreign
        self.finished += 1
        self.say(f"{len(self.history):4}  finished equal in {time.monotonic() - begun:.1f} s; {self.kills} kills")

    def undisturbed(self, warm: bool) -> str:
        """What Snakemake says if nobody disturbs it; once more if a repaired file came out different, as seconds do."""
        workflow = self.started(warm)
        if not workflow.ended():
            raise self.broken("the workflow does not end", workflow)
        if workflow.process.returncode and "must run after all, run again" in workflow.said():
            return self.undisturbed(warm)
        self.must_have_succeeded(workflow)
        return workflow.said()

    def must_have_succeeded(self, workflow: Workflow) -> None:
        if code := workflow.process.returncode:
            raise self.broken(f"failed ({code}) though nothing was killed", workflow)

    def must_be_gone(self) -> None:
        if not faults.gone(self.project.folder):
            raise self.broken(f"Snakemake has ended, but this still runs: {processes_in(self.project.folder)}")

    def broken(self, why: str, workflow: Workflow | None = None) -> Broken:
        """The error, with all that is needed to see it again."""
        steps = "\n".join(map(repr, self.history))
        said = [workflow.said()] if workflow else []
        where = f"seed {self.seed}, {self.kills} kills; the project is left in {self.project.folder}"
        return Broken("\n".join(["the steps were:", steps, *said, where, f"broken: {why}"]))

    def report(self) -> str:
        """What was hit how often."""
        lines = [f"{count:4} x {what}: {how}" for (what, how), count in sorted(self.counts.items())]
        inside = self.count("during", *INSIDE)
        total = (
            f"{self.kills} kills, {inside} of them inside a training that had a checkpoint; {self.count('edit')} "
            f"edits, after {self.judged} of which no good result was lost; {self.count('damage')} damaged files; "
            f"finished equal {self.finished} times"
        )
        return "\n".join([*lines, total])
