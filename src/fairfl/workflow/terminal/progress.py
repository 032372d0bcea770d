"""What has happened in a run of the workflow so far, without how that is shown."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairfl.runtime.plain_data import span
from fairfl.workflow.terminal.names import KINDS

# What fairfl.runtime.progress prints into a job's log.
_ROUND = re.compile(
    r"round (\d+)/(\d+) +([\d.]+ (?:rounds/s|s a round)).*?(?:([\d.]+) s to go)?\s*$"
)
# Names of files, words in quotes and numbers: of one job, not of what went wrong.
_OWN = re.compile(r"'[^']*'|\S*/\S*|\d[\d.,]*")
TAIL = 4096  # bytes of a log in which its last line is looked for


@dataclass(frozen=True)
class RunningJob:
    """A job that has started."""

    rule: str
    name: str  # as a person says it
    log: str
    output: str
    begun: float
    why: str = ""  # it failed, as the cluster says

    def last_lines(self, most: int) -> list[str]:
        """Last lines of its log; of a job that has none, why."""
        try:
            text = Path(self.log).read_text(errors="replace")
        except OSError:
            return self.why.splitlines()[-most:] or ["(no log: the job could not begin)"]
        lines = text.replace("\r", "\n").splitlines()[-most:]
        return lines or [self.why or "(the log is empty: it was killed, or could not begin)"]

    @property
    def cause(self) -> str:
        """The last line of its log, where an exception says what it is; without what differs from job to job."""
        return _OWN.sub("…", self.last_lines(1)[0])

    def doing(self) -> str:
        """'39.0 rounds/s, 12 s left' if the last line of its log says so, else ''."""
        try:
            with Path(self.log).open("rb") as file:
                file.seek(max(0, Path(self.log).stat().st_size - TAIL))
                lines = file.read().decode(errors="replace").split()
        except OSError:
            return ""
        match = _ROUND.search(" ".join(lines[-20:]))
        return (
            f"round {match[1]} of {match[2]}, {match[3]}, {span(float(match[4] or 0))} left"
            if match
            else ""
        )


@dataclass
class RunProgress:
    """Jobs by rule: all, done, running, failed.

    `speak` names a job by rule and wildcards; `asked` are the targets, such as all, fedfv, fedfv_table3 or a file;
    `locate` says where one may lie.
    """

    speak: Callable[[str, Mapping[str, str]], str] = lambda rule, wildcards: rule
    asked: Callable[[], list[str]] = list
    locate: Callable[[str], list[Path]] = lambda target: [Path(target)]
    clock: Callable[[], float] = time.monotonic
    totals: dict[str, int] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    running: dict[int, RunningJob] = field(default_factory=dict)
    failed: dict[int, RunningJob] = field(default_factory=dict)
    begun: float = 0.0
    kinds: Iterable[str] = tuple(
        KINDS
    )  # rules that leave files; the others are targets, which do nothing
    interrupted: bool = False  # by the user, who has pressed Ctrl-C

    def plan(self, counts: Mapping[str, int]) -> None:
        """Note how many jobs of each rule are to run; targets, which do nothing, are left out."""
        self.totals = {rule: counts[rule] for rule in self.kinds if rule in counts}
        self.begun = self.clock()

    def start(self, number: int, record: Mapping[str, Any]) -> None:
        rule, wildcards = record["rule_name"], record["wildcards"] or {}
        if rule not in self.kinds:
            return
        log, output = (next(iter(record[key] or ()), "") for key in ("log", "output"))
        self.running[number] = RunningJob(
            rule, self.speak(rule, wildcards), log, output, self.clock()
        )

    def finish(self, number: int) -> None:
        """A job has ended well, or one that does nothing. One that was tried again has not failed."""
        failed = self.failed.pop(number, None)
        if job := self.running.pop(number, failed):
            self.done[job.rule] += 1

    def fail(self, number: int, why: str = "") -> RunningJob | None:
        """The job that failed; None of one that does nothing, and of one that an interruption ended."""
        job = self.running.pop(number, None)
        if job and not self.interrupted:
            self.failed[number] = job = replace(job, why=why)
            return job
        return None

    def alike(self) -> list[list[RunningJob]]:
        """The jobs that failed, jobs of one cause together, in the order in which they did."""
        groups: dict[str, list[RunningJob]] = {}
        for job in self.failed.values():
            groups.setdefault(job.cause, []).append(job)
        return list(groups.values())

    @property
    def total(self) -> int:
        return sum(self.totals.values())
