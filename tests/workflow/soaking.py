"""Kills and damages a workflow at random until it has finished equal to an undisturbed one often enough."""

import contextlib
import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.workflow.faults import (
    CHECKPOINTS,
    MADE,
    WRITING,
    Workflow,
    befall,
    files_below,
    from_nothing,
    gone,
    made_by,
    made_in,
    processes_in,
    running_in,
    same_in,
    servers_in,
    signal_to,
    start,
    stop_all,
)
from tests.workflow.small_project import Project

Fault = tuple[str, str, float]
TARGETS = {"group": 45, "workflow": 20, "job": 15, "server": 8, "everything": 12}
SIGNALS = {"SIGKILL": 50, "SIGTERM": 25, "SIGINT": 25}
DAMAGES = {"truncate": 35, "delete": 20, "date": 20, "half": 10, "output": 10, "forget": 5}
PARTS = ("results/tiny/records", "results/tiny/runs", "results/tiny/tidy", "results/tiny/eagle", "results/data")
PATIENCE = 240.0  # seconds after which something hangs


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


Step = Kill | Finish | Fault


class Broken(AssertionError):
    """A promise was broken; says which, and all steps up to then."""


def encoded(step: Step) -> str:
    """A step as a line of JSON."""
    return json.dumps(list(step) if isinstance(step, tuple) else {type(step).__name__: asdict(step)})


def decoded(line: str) -> Step:
    """The reverse of `encoded`."""
    found = json.loads(line)
    if isinstance(found, list):
        return found[0], found[1], found[2]
    ((name, fields),) = found.items()
    return {"Kill": Kill, "Finish": Finish}[name](**fields)


class Soak:
    """A project that has run undisturbed, a copy of it to torment, and what happened to that so far."""

    def __init__(self, undisturbed: Project, folder: Path, seed: int, say: Callable[[str], None] = print) -> None:
        self.expected, self.names = same_in(undisturbed), set(made_in(undisturbed))
        self.project = from_nothing(undisturbed, folder)
        self.seed, self.say, self.draw = seed, say, random.Random(seed)
        self.history: list[Step] = []
        self.planted: set[str] = set()
        self.hit: Counter[str] = Counter()  # phase -> kills while a job of it ran
        self.sent: Counter[str] = Counter()  # signal and target -> kills
        self.halves = self.finished = 0

    @property
    def kills(self) -> int:
        return self.sent.total()

    def run(self, steps: Iterable[Step]) -> None:
        """Take these steps. Raises Broken."""
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            before, os.environ["TMPDIR"] = os.environ.get("TMPDIR"), folder  # short: a socket's path has 107 letters
            self.sockets = Path(folder)
            try:
                for step in steps:
                    self.take(step)
            finally:
                stop_all(self.project.folder)
                os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)

    def take(self, step: Step) -> None:
        self.history.append(step)
        if isinstance(step, Kill):
            self.kill(step)
        elif isinstance(step, Finish):
            self.finish(step)
        else:
            befall(self.project.folder, step)
            if step[0] == "junk" and step[1] not in self.names:
                self.planted.add(step[1])

    # -- what to do next ----------------------------------------------------------------------
    def drawn(self, kills: int, until: float = float("inf")) -> Iterator[Step]:
        """Random steps until that many kills were sent or the time (monotonic) is over; the last one finishes."""
        while self.kills < kills and time.monotonic() < until:
            pending = self.pending()
            if not pending or self.chance(0.06):
                yield Finish(self.chance(0.75))
                yield from self.start_over()
                continue
            yield self.next_kill(pending)
            if self.chance(0.5):
                for _ in range(self.draw.randint(1, 3)):
                    yield from self.damage()
        yield Finish(True)

    def pending(self) -> list[str]:
        """Phases of which results are missing or have another size."""
        sizes = {name: path.stat().st_size for name, path in made_in(self.project).items()}
        whole = {name for name, size in sizes.items() if size == len(self.expected.get(name, range(size)))}
        return sorted({made_by(name) for name in self.names - whole} - {""})

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def one_of(self, weights: dict[str, int]) -> str:
        return self.draw.choices(list(weights), list(weights.values()))[0]

    def next_kill(self, pending: list[str]) -> Kill:
        warm, target, phase = self.chance(0.75), self.one_of(TARGETS), ""
        if target == "server" and not warm:
            target = "group"
        seconds = self.draw.uniform(0, 7)
        if self.chance(0.6):
            trained = list(CHECKPOINTS) if "train" in pending else []
            phases = [*pending, *trained]
            phase = self.draw.choices(phases, [1 / (1 + self.hit[name]) for name in phases])[0]  # rather the rare ones
            longest = {"train": 1.5, "local optimum": 0.5, "checkpoint": 0.5}
            seconds = self.draw.uniform(0, longest.get(phase, 0.15))
            target = "everything" if phase == WRITING and self.chance(0.7) else target
        number = "SIGKILL" if target == "everything" else self.one_of(SIGNALS)
        which, settle, patience = self.draw.random(), self.chance(0.4), self.draw.uniform(0, 4)
        return Kill(warm, phase, round(seconds, 3), target, number, round(which, 3), settle, round(patience, 3))

    def start_over(self) -> Iterator[Fault]:
        """From nothing, or without some results."""
        if self.chance(0.6):
            yield from (("forget", name, 0) for name in MADE)
        else:
            yield "forget", self.draw.choice(PARTS), 0

    def damage(self) -> Iterator[Fault]:
        kind = self.one_of(DAMAGES)
        results = dict(files_below(self.project.folder, "results"))
        kept = dict(files_below(self.project.folder, ".snakemake"))
        logs = [name for name in results if name.endswith(".log")]
        group = self.draw.choices([[name for name in results if name not in logs], logs, list(kept)], [75, 10, 15])[0]
        missing = sorted(name for name in self.names - set(results) if name.startswith("results/"))
        if kind == "forget":
            yield "forget", ".snakemake", 0
        elif kind == "output" and missing:
            yield "junk", self.draw.choice(missing), self.draw.choice([0, 1, 1000])
        elif not group:
            return
        elif kind == "half":
            folder, _, name = self.draw.choice(group).rpartition("/")
            yield "junk", f"{folder}/.{name}.{self.draw.randint(1, 4 << 20)}-{self.draw.randbytes(4).hex()}.tmp", 1000
        elif kind == "truncate":
            name = self.draw.choice(group)
            with contextlib.suppress(FileNotFoundError):
                size = (self.project.folder / name).stat().st_size
                yield "truncate", name, self.draw.choice([0, size // 2, max(size - 1, 0)])
        elif kind == "delete":
            yield "delete", self.draw.choice(group), 0
        elif kind == "date":
            for name in self.draw.sample(group, min(len(group), 5)):
                yield "date", name, self.draw.choice([-10, 10])

    # -- doing it -----------------------------------------------------------------------------
    def started(self, warm: bool) -> Workflow:
        return start(self.project, "--quiet", "rules", "host", config=(f"warm_start={str(warm).lower()}",))

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
        if not workflow.ended(PATIENCE):
            raise self.broken(f"Snakemake does not end {PATIENCE:.0f} s after {step.number}", workflow)
        new = workflow.new()
        begins = not any(name.endswith(".log") for name in new)
        phases = phases or ["before the first job" if begins else "between jobs"]
        self.hit.update(phases)
        self.sent[f"{step.number} to {step.target}"] += 1
        self.halves += sum(name.endswith(".tmp") for name in new)
        self.say(
            f"{len(self.history):4}  {step.number} to {step.target} after {time.monotonic() - begun:.1f} s"
            f" (asked for {step.phase or 'a time'}): {', '.join(phases)}{'' if step.warm else '; started plainly'}"
        )
        workflow.output.close()
        if step.settle:
            self.must_be_gone()

    def moment(self, step: Kill, workflow: Workflow) -> tuple[list[int], list[str]]:
        """Wait until it is time for a kill; processes to signal (negative: a group), and what the jobs do now."""
        if step.phase == WRITING:  # so short that nothing may come between seeing it and the signal
            targets: list[int] = []

            def writes() -> bool:
                targets[:] = self.targets(step, workflow.pid)
                return workflow.seen(WRITING)

            workflow.wait_for(writes, PATIENCE, pause=0)
            return targets, ["train", WRITING]
        if step.phase:
            workflow.wait_for(lambda: workflow.seen(step.phase), PATIENCE)
        over = time.monotonic() + step.seconds
        workflow.wait_for(lambda: time.monotonic() > over, PATIENCE)
        return self.targets(step, workflow.pid), workflow.phases()

    def targets(self, step: Kill, workflow: int) -> list[int]:
        folder = self.project.folder
        if step.target == "everything":
            return list(processes_in(folder))
        servers = servers_in(folder) if step.target in ("job", "server") else {}
        if step.target == "server" and servers:
            return [min(servers)]
        if step.target == "job":
            jobs = sorted([*running_in(folder), *(job for forked in servers.values() for job in forked)])
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
        left = [*sorted(set(files) - self.names - self.planted), *map(str, self.sockets.glob("fairfl-*"))]
        if left:
            raise self.broken(f"left behind: {', '.join(left)}")
        dates = {name: path.stat().st_mtime_ns for name, path in files.items()}
        said = self.undisturbed(step.warm)
        changed = [name for name, path in made_in(self.project).items() if dates.get(name) != path.stat().st_mtime_ns]
        if "Nothing to be done" not in said or changed:
            raise self.broken(f"the second call is no no-op: {', '.join(changed)}\n{said}")
        for name in self.planted:
            (self.project.folder / name).unlink(missing_ok=True)
        self.planted.clear()
        self.finished += 1
        self.say(f"{len(self.history):4}  finished equal in {time.monotonic() - begun:.1f} s; {self.kills} kills")

    def undisturbed(self, warm: bool) -> str:
        """What Snakemake says if nobody disturbs it."""
        workflow = self.started(warm)
        if not workflow.ended(2 * PATIENCE):
            raise self.broken("the workflow does not end", workflow)
        self.must_have_succeeded(workflow)
        return workflow.said()

    def must_have_succeeded(self, workflow: Workflow) -> None:
        if code := workflow.process.returncode:
            raise self.broken(f"failed ({code}) though nothing was killed", workflow)

    def must_be_gone(self) -> None:
        if not gone(self.project.folder, PATIENCE):
            raise self.broken(f"Snakemake has ended, but this still runs: {processes_in(self.project.folder)}")

    def broken(self, why: str, workflow: Workflow | None = None) -> Broken:
        """The error, with all that is needed to see it again."""
        steps = "\n".join(map(encoded, self.history))
        said = [workflow.said()] if workflow else []
        where = f"seed {self.seed}, {self.kills} kills; the project is left in {self.project.folder}"
        return Broken("\n".join(["the steps were:", steps, *said, where, f"broken: {why}"]))

    def report(self) -> str:
        """What was hit how often."""
        lines = [f"{count:4} x {key}" for counter in (self.hit, self.sent) for key, count in counter.most_common()]
        total = f"{self.kills} kills left {self.halves} files half-written; finished equal {self.finished} times"
        return "\n".join([*lines, total])
