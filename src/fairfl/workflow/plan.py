"""For each long job whether it would run, for each other one that would, and why.

The verdicts are those that Snakemake is given (fairfl.workflow.rerun), on the jobs of the same Snakefile. Runs nothing.
"""

import functools
import re
from collections import Counter

from fairfl.workflow.graph import name_of
from fairfl.workflow.rerun import Rerun
from fairfl.workflow.terminal.display import Display
from fairfl.workflow.terminal.names import KINDS, counted

WIDTH = 40  # of changed keys; if they take more, only what they are part of is named
SHOWN = 2  # reasons for each kind of job
_DAMAGE = re.compile(r" is (missing|damaged)( |$)|^its record says nothing of ")
# What fairfl.values.differences says.
_MODULE = re.compile(r"(?:edited|new module|module gone) (\S+)$")
_KEY = re.compile(r"([\w.~/=+-]+): ")


def lines(rerun: Rerun) -> list[str]:
    """The plan as text: a line for each job that keeps a checkpoint or would run, and a sum."""
    text: list[str] = []
    counts: dict[str, list[int]] = {}
    others = 0
    for job in rerun.needed(rerun.graph.everything()):
        why = rerun.reason(job.name)
        if job.checkpoint:
            count = counts.setdefault(job.rule, [0, 0])
            count[0] += bool(why)
            count[1] += 1
        else:
            others += bool(why)
        if why or job.checkpoint:
            keep = "is stored" if rerun.stored(job.name) else "up to date"
            text.append(f"{'run ' if why else 'keep'}  {job.name}  {why or keep}")
    for what, results in sorted(rerun.kept_mismatches.items()):
        text.append(f"note: {results} results were made {what}: kept (numerics_mismatch: keep)")
    total = " and ".join(
        f"{run} of {every} {rule}" for rule, (run, every) in sorted(counts.items(), reverse=True)
    )
    return [
        *text,
        f"{total or 'no run'} and {others} other jobs would run at scale {rerun.graph.workload.scale.scale}",
    ]


def kind(reason: str) -> str:
    """Return what many reasons have in common: names of modules and keys without values, no names of jobs and files."""
    if "which it reads" in reason or reason.startswith(("reads ", "no longer reads ")):
        return "what it reads has changed"
    if reason.startswith("its record is "):
        return reason
    if _DAMAGE.search(reason):
        return "a file is missing or damaged"
    parts = reason.split("; ")
    modules = sorted({match[1] for part in parts if (match := _MODULE.match(part))})
    keys = sorted(
        {match[1] for part in parts if not _MODULE.match(part) and (match := _KEY.match(part))}
    )
    edited = (
        f"edited {modules[0]}" + (f" and {len(modules) - 1} more" if modules[1:] else "")
        if modules
        else ""
    )
    if len(", ".join(keys)) > WIDTH:
        keys = sorted({key.partition(".")[0] for key in keys})
    return "; ".join(filter(None, (edited, f"{', '.join(keys)} changed" if keys else ""))) or reason


def by_kind(rerun: Rerun) -> dict[str, Counter[str]]:
    """Kinds of reasons of the jobs that would run, by rule."""
    reasons: dict[str, Counter[str]] = {}
    for job in rerun.needed(rerun.graph.everything()):
        if why := rerun.reason(job.name):
            reasons.setdefault(job.rule, Counter())[kind(why)] += 1
    return reasons


def table(reasons: dict[str, Counter[str]]) -> list[str]:
    """A line for each kind of job: how many would run, and why."""
    rules = [rule for rule in dict.fromkeys([*KINDS, *reasons]) if rule in reasons]
    numbers = {rule: counted(rule, reasons[rule].total()) for rule in rules}
    width = max(map(len, numbers.values()), default=0) + 2
    return [f"{number:>{width}}  {_shares(reasons[rule])}" for rule, number in numbers.items()]


def _shares(reasons: Counter[str]) -> str:
    """'never finished: 3; rounds changed: 2; other reasons: 4', without a number if there is but one."""
    most = reasons.most_common(SHOWN)
    if len(reasons) == 1:
        return most[0][0]
    rest = reasons.total() - sum(number for _, number in most)
    return "; ".join(
        f"{why}: {number:,}"
        for why, number in [*most, *([("other reasons", rest)] if rest else [])]
    )


def would_run(reasons: dict[str, Counter[str]], scale: str) -> list[str]:
    """Say how many jobs would run, then a line for each kind."""
    number = sum(counter.total() for counter in reasons.values())
    return [
        f"{number:,} {'job' if number == 1 else 'jobs'} would run at scale {scale}:",
        *table(reasons),
    ]


def show_plan(display: Display, rerun: Rerun, scale: str) -> None:
    """Let the display say why jobs run, and what a dry run would do."""
    rules = [rule.name for rule in rerun.graph.rules.values() if rule.outputs]
    display.explain(
        rules, lambda log: kind(rerun.reason(name_of(log))), functools.partial(dry_run, scale=scale)
    )


def dry_run(reasons: dict[str, Counter[str]], scale: str) -> list[str]:
    """Lines of `snakemake -n` about jobs that would run."""
    return [
        *would_run(reasons, scale),
        "`fairfl plan` says what that costs and which published numbers it checks",
    ]
