"""What has happened in a run of the workflow so far, without how that is shown."""

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairfl.terminal.names import KINDS

# What fairfl.runtime.progress prints into a job's log.
_ROUND = re.compile(r"round (\d+)/(\d+) +([\d.]+) rounds/s.*?(?:([\d.]+) s to go)?\s*$")
TAIL = 4096  # bytes of a log in which its last line is looked for


@dataclass(frozen=True)
class Job:
    """A job that has started."""

    rule: str
    name: str  # as a person says it
    log: str
    output: str
    begun: float

    def doing(self) -> str:
        """'39.0 rounds/s, 12 s left' if the last line of its log says so, else ''."""
        try:
            with Path(self.log).open("rb") as file:
                file.seek(max(0, Path(self.log).stat().st_size - TAIL))
                lines = file.read().decode(errors="replace").split()
        except OSError:
            return ""
        found = _ROUND.search(" ".join(lines[-20:]))
        return (
            f"round {found[1]} of {found[2]}, {found[3]} rounds/s, {span(float(found[4] or 0))} left" if found else ""
        )


@dataclass
class Run:
    """Jobs by rule: all, done, running, failed. `speak` names a job by rule and wildcards."""

    speak: Callable[[str, Mapping[str, str]], str] = lambda rule, wildcards: rule
    clock: Callable[[], float] = time.monotonic
    totals: dict[str, int] = field(default_factory=dict)
    targets: set[str] = field(default_factory=set)  # what was asked for by a name: all, fedfv, fedfv_table3
    done: Counter[str] = field(default_factory=Counter)
    running: dict[int, Job] = field(default_factory=dict)
    failed: dict[int, Job] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)  # seconds of the jobs that are done, by rule
    begun: float = 0.0

    def plan(self, counts: Mapping[str, int]) -> None:
        """So many jobs of each rule are to run; targets, which do nothing, are left out."""
        self.totals = {rule: counts[rule] for rule in KINDS if rule in counts}
        self.targets = counts.keys() - KINDS.keys() - {"total"}
        self.begun = self.clock()

    def start(self, number: int, record: Mapping[str, Any]) -> None:
        rule, wildcards = record["rule_name"], record["wildcards"] or {}
        if rule not in KINDS:
            return
        log, output = (next(iter(record[key] or ()), "") for key in ("log", "output"))
        self.running[number] = Job(rule, self.speak(rule, wildcards), log, output, self.clock())

    def finish(self, number: int) -> Job | None:
        """A job has ended well; None if it is one that does nothing. One that was tried again has not failed."""
        job = self.running.pop(number, None) or self.failed.pop(number, None)
        self.failed.pop(number, None)
        if job is not None:
            self.done[job.rule] += 1
            self.spent[job.rule] = self.spent.get(job.rule, 0.0) + self.clock() - job.begun
        return job

    def fail(self, number: int) -> Job | None:
        job = self.running.pop(number, None)
        if job is not None:
            self.failed[number] = job
        return job

    @property
    def total(self) -> int:
        return sum(self.totals.values())

    def left(self) -> float | None:
        """Seconds to go: what jobs of a kind have taken on average, with as many at once as so far; None at first.

        Kinds of which none has ended count as the mean of all others.
        """
        ended, worked = self.done.total(), sum(self.spent.values())
        passed = self.clock() - self.begun
        if not ended or not worked or passed < 5:
            return None
        now = self.clock()
        rest = 0.0
        for rule, count in self.totals.items():
            mean = self.spent[rule] / self.done[rule] if self.done[rule] else worked / ended
            ahead = [min(now - job.begun, 0.9 * mean) for job in self.running.values() if job.rule == rule]
            rest += mean * (count - self.done[rule]) - sum(ahead)
        at_once = max(worked + sum(now - job.begun for job in self.running.values()), 1e-9) / passed
        return max(rest, 0.0) / max(at_once, 0.5)


def span(seconds: float) -> str:
    """'48 s', '12 min 3 s', '3 h 20 min'."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole < 1200 else f"{round(whole / 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
