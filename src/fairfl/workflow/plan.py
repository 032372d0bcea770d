"""For each long job whether it would run, for each other one that would, and why.

The verdicts are those that Snakemake is given (fairfl.workflow.rerun), on the jobs of the same Snakefile. Runs nothing.
"""

import re
from collections import Counter

from fairfl.terminal.names import KINDS, counted
from fairfl.workflow.graph import Graph
from fairfl.workflow.recorded import rerun_of
from fairfl.workflow.rerun import Rerun

WIDTH = 90  # of a reason in a summary


def lines(graph: Graph) -> list[str]:
    """The plan as text: a line for each job that keeps a checkpoint or would run, and a sum."""
    rerun = rerun_of(graph)
    text: list[str] = []
    counts: dict[str, list[int]] = {}
    others = 0
    for job in rerun.needed(graph.everything()):
        why = rerun.verdict(job.name).reason
        if job.checkpoint:
            count = counts.setdefault(job.rule, [0, 0])
            count[0] += bool(why)
            count[1] += 1
        else:
            others += bool(why)
        if why or job.checkpoint:
            text.append(f"{'run ' if why else 'keep'}  {job.name}  {why or 'up to date'}")
    for torch, results in sorted(rerun.others.items()):
        text.append(
            f"note: {results} results were made with torch {torch}, here is {rerun.torch}: kept (other_torch: keep)"
        )
    total = " and ".join(f"{run} of {every} {rule}" for rule, (run, every) in sorted(counts.items(), reverse=True))
    return [*text, f"{total or 'no run'} and {others} other jobs would run at scale {graph.workload.scale.scale}"]


def kind(reason: str) -> str:
    """What many reasons have in common: keys without values, no names of jobs and files."""
    if "which it reads" in reason or reason.startswith(("reads ", "no longer reads ")):
        return "what it reads has changed"
    if reason.endswith(("is missing", "is damaged")) or " is damaged (" in reason:
        return "a file is missing or damaged"
    words = re.sub(r": [^;]*", "", reason)
    return words if len(words) <= WIDTH else f"{words[: WIDTH - 3]}..."


def by_kind(rerun: Rerun) -> dict[str, Counter[str]]:
    """Kinds of reasons of the jobs that would run, by rule."""
    found: dict[str, Counter[str]] = {}
    for job in rerun.needed(rerun.graph.everything()):
        if why := rerun.verdict(job.name).reason:
            found.setdefault(job.rule, Counter())[kind(why)] += 1
    return found


def table(reasons: dict[str, Counter[str]]) -> list[str]:
    """A line for each kind of job: how many would run, and why."""
    text = []
    for rule in (rule for rule in KINDS if rule in reasons):
        (why, number), *others = reasons[rule].most_common()
        rest = sum(count for _, count in others)
        also = f" ({number:,} of them; {others[0][0]}: {others[0][1]:,})" if others else ""
        more = f" and {rest - others[0][1]:,} for other reasons" if len(others) > 1 else ""
        text.append(f"{counted(rule, reasons[rule].total()):>34}  {why}{also}{more}")
    return text
