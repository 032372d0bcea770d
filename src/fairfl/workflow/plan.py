"""For each long job whether it would run, for each other one that would, and why.

The verdicts are what Snakemake is given (fairfl.workflow.rerun), on the jobs of the same Snakefile. Runs nothing.
"""

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable

from fairfl.workflow.graph import Job, name_of
from fairfl.workflow.rerun import KEPT, Rerun
from fairfl.workflow.terminal.display import Display
from fairfl.workflow.terminal.names import KINDS, counted

WIDTH = 40  # of changed keys; if they take more, only what they are part of is named
SHOWN = 2  # reasons for each kind of job
_DAMAGE = re.compile(r" is (missing|damaged)( |$)|^its record says nothing of ")
# What fairfl.values.differences says.
_MODULE = re.compile(r"(?:edited|new module|module gone) (\S+)$")
_KEY = re.compile(r"([\w.~/=+-]+): ")


def decide(rerun: Rerun) -> list[tuple[Job, str]]:
    """Each job that is needed, and why it must run; "" if it need not."""
    return [(job, rerun.reason(job.name)) for job in rerun.needed(rerun.graph.everything())]


def lines(
    rerun: Rerun, decided: Iterable[tuple[Job, str]], bought: Container[str] = ()
) -> list[str]:
    """The plan as text: a line for each job that keeps a checkpoint or would run, and a sum. Marks `bought` jobs."""
    text: list[str] = []
    run, every = Counter[str](), Counter[str]()
    for job, why in decided:
        rule = job.rule if job.checkpoint else ""
        runs = not rerun.is_done(job.name)
        run[rule] += runs
        every[rule] += 1
        if why or rule:
            keep = why or ("is stored" if rerun.stored(job.name) else "up to date")
            mark = "; the budget buys it" if job.name in bought else ""
            text.append(f"{'run ' if runs else 'keep'}  {job.name}  {keep}{mark}")
    for what, results in sorted(rerun.kept_mismatches.items()):
        text.append(f"note: {results} results were made {what}: kept (numerics_mismatch: keep)")
    long = [f"{run[rule]} of {every[rule]} {rule}" for rule in sorted(filter(None, every))[::-1]]
    scale = rerun.graph.workload.scale.scale
    text.append(
        f"{' and '.join(long) or 'no run'} and {run['']} other jobs would run at scale {scale}"
    )
    return text


def kind(reason: str) -> str:
    """Return what many reasons have in common: names of modules and keys without values, no names of jobs and files."""
    if "which it reads" in reason or reason.startswith(("reads ", "no longer reads ")):
        return "what it reads has changed"
    if reason.startswith("its record is "):
        return reason
    if _DAMAGE.search(reason):
        return "a file is missing or damaged"
    modules, keys = set(), set()
    for part in reason.split("; "):
        if module := _MODULE.match(part):
            modules.add(module[1])
        elif key := _KEY.match(part):
            keys.add(key[1])
    if len(", ".join(keys)) > WIDTH:
        keys = {key.partition(".")[0] for key in keys}
    parts = []
    if modules:
        more = f" and {len(modules) - 1} more" if len(modules) > 1 else ""
        parts.append(f"edited {min(modules)}{more}")
    if keys:
        parts.append(f"{', '.join(sorted(keys))} changed")
    return "; ".join(parts) or reason


def by_kind(decided: Iterable[tuple[Job, str]]) -> dict[str, Counter[str]]:
    """Kinds of reasons of the jobs that would run, by rule."""
    reasons = defaultdict[str, Counter[str]](Counter)
    for job, why in decided:
        if why:
            reasons[job.rule][kind(why)] += 1
    return reasons


def would_run(reasons: dict[str, Counter[str]], scale: str) -> list[str]:
    """Say how many jobs would run, then a line for each kind: how many, and why; last, how many results come
    back that are kept."""
    back = sum(counter[KEPT] for counter in reasons.values())
    runs = {
        rule: reasons[rule] - Counter({KEPT: back})
        for rule in [*KINDS, *reasons]
        if rule in reasons
    }
    number = sum(counter.total() for counter in runs.values())
    numbers = {rule: counted(rule, counter.total()) for rule, counter in runs.items() if counter}
    width = max(map(len, numbers.values()), default=0) + 2
    return [
        f"{number:,} {'job' if number == 1 else 'jobs'} would run at scale {scale}:",
        *(f"{text:>{width}}  {_shares(runs[rule])}" for rule, text in numbers.items()),
        *([f"kept results that come back without a run: {back:,}"] if back else []),
    ]


def _shares(reasons: Counter[str]) -> str:
    """'never finished: 3; rounds changed: 2; other reasons: 4', without a number if there is but one."""
    most = dict(reasons.most_common(SHOWN))
    if len(reasons) == 1:
        return next(iter(most))
    if rest := reasons.total() - sum(most.values()):
        most["other reasons"] = rest
    return "; ".join(f"{why}: {number:,}" for why, number in most.items())


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
