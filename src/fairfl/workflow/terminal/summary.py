"""The last words of a run: what was built, what was checked and how that came out, what failed and what to type."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from fairfl.experiments.config import options_of
from fairfl.experiments.paper import Paper
from fairfl.judgement.measurements import readings_and_own, totals
from fairfl.judgement.rows import ClaimLine, ComparisonLine, records
from fairfl.runtime.plain_data import span
from fairfl.workflow.terminal.names import counted
from fairfl.workflow.terminal.progress import RunningJob, RunProgress

LINES = 15  # of the log of a job that failed
NAMED = 3  # of those that failed like another one


def success_lines(
    run: RunProgress, results: Path, papers: Mapping[str, Paper] = {}, scale: str = ""
) -> Iterator[str]:
    """After a run without failures, in at most five lines: what was built and checked, where it lies, what to type."""
    built = " and ".join(
        counted(rule, run.done[rule]) for rule in ("table", "figure") if run.done[rule]
    )
    jobs = "1 job" if run.done.total() == 1 else f"{run.done.total():,} jobs"
    yield f"done: {jobs} in {span(run.clock() - run.begun)}" + (
        f"; {built} built at scale {scale}" if built else ""
    )
    whole = "page" in run.done or "all" in run.asked()
    if whole:
        yield from checked_lines(results, papers)
    yield from output_paths(run, results)
    if whole:
        yield f"next: {PLAN if scale == 'full' else RECORDED}"


def output_paths(run: RunProgress, results: Path) -> Iterator[str]:
    """Say where the targets lie: the page, else a line for each table, figure, paper or file that is there."""
    page = results / "index.html"
    if ("page" in run.done or "all" in run.asked()) and page.exists():
        yield f"page: {page.absolute().as_uri()}"
        return
    for target in run.asked():
        for path in run.locate(target):
            if path.exists():
                yield f"{target}: {path}" if target != str(path) else str(path)
                break


def checked_lines(results: Path, papers: Mapping[str, Paper] = {}) -> Iterator[str]:
    """Sum up comparison.csv and claims.csv, in a line each at most; other interpretations of a paper count in none."""
    if not (results / "claims.csv").is_file():
        return
    lines = records(results / "comparison.csv", "comparison", ComparisonLine)
    claims = records(results / "claims.csv", "claims", ClaimLine)
    sums = totals(lines, claims, papers)
    numbers, other = sums.numbers, set().union(*readings_and_own(papers))
    apart = sum(
        line.verdict.startswith("not comparable") for line in lines if line.artifact not in other
    )
    if numbers.published or apart:  # of your own experiments no paper reports any
        text = f"checked: {numbers.checked:,} of {numbers.published:,} published numbers"
        if numbers.checked:
            came_out = (
                f"{numbers.agree:,} agree, {numbers.close:,} close, {numbers.differ:,} differ"
            )
            text += f": {came_out}, {numbers.inconclusive:,} inconclusive; {numbers.one_seed:,} rest on one seed"
        yield text + (
            f"; {apart:,} more have another scale, data or hardware than the paper's"
            if apart
            else ""
        )
    claimed = []
    for whose, counts in (
        ("", sums.claims.statuses),
        ("your experiments: ", sums.own_claims.statuses),
    ):
        if parts := ", ".join(f"{counts[word]} {word}" for word in _STATUSES if counts[word]):
            claimed.append(whose + parts)
    if claimed:
        yield f"claims: {'; '.join(claimed)}"


RECORDED = "make stored-results   (the same at full scale, from stored results: minutes)"
PLAN = "fairfl plan --config scale=full   (which runs would check more numbers, and how long they take)"
_STATUSES = (
    "supported",
    "refuted",
    "inconclusive",
    "fitted",
    "missing numbers",
    "not evaluated at this scale",
)


HERE = ("--cores", "1")


def interrupted(run: RunProgress, command: Callable[[RunningJob], str]) -> Iterator[str]:
    """After Ctrl-C: what had failed before it, and how to go on."""
    if run.failed:
        yield from failures(run, command)
    yield (
        f"interrupted: {run.done.total():,} of {run.total:,} jobs had ended and stay; the same command goes on from "
        "there, trainings from their last checkpoint"
    )


def failures(run: RunProgress, command: Callable[[RunningJob], str]) -> Iterator[str]:
    """Say what failed, each job once, jobs of one cause together. The first comes last: its log should be read."""
    (first, *alike), *others = run.alike()
    for job, *more in reversed(others):
        yield f"failed: {job.name}"
        yield f"   | {job.last_lines(1)[0]}"
        yield from similar_failures(more)
        yield f"   log: {job.log}"
    never = run.total - run.done.total() - len(run.failed)
    yield f"failed: {first.name} ({len(run.failed)} of {run.total:,} jobs failed, {never:,} did not run)"
    yield from (f"   | {line}" for line in first.last_lines(LINES))
    yield from similar_failures(alike)
    yield f"   log: {first.log}"
    yield f"   it alone: {command(first)}"


def similar_failures(jobs: list[RunningJob]) -> Iterator[str]:
    """A line for jobs that failed like the one above."""
    if jobs:
        names = [job.name for job in jobs[:NAMED]] + ["..." for _ in jobs[NAMED : NAMED + 1]]
        yield f"   {len(jobs)} more in the same way: {'; '.join(names)}"


def rerun_command(
    job: RunningJob, snakemake: str, config: Mapping[str, object], where: Sequence[str] = HERE
) -> str:
    """The command that runs one job again, from the folder that the user is in.

    `where`: here, or on the cluster, where the run was: nothing trains on a login node. `snakemake`: what this process
    was called as, which a shell may not be able to call: a module, or fairfl's.
    """
    words = (
        [snakemake]
        if os.access(snakemake, os.X_OK) and "/" in snakemake
        else [sys.executable, "-m", "snakemake"]
    )
    here, shell = os.getcwd(), os.environ.get("PWD", "")
    away = shell and os.path.isdir(shell) and not os.path.samefile(shell, here)
    command = shlex.join([*words, *where, *options_of(config), "--", job.output])
    return f"cd {shlex.quote(here)} && {command}" if away else command
