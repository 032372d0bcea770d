"""python -m fairfl.planning.plan: what would run, and why; what that costs, and what it would tell. Runs nothing.

A summary in words. A line for each job with its own reason is in results/<scale>/plan.txt (fairfl.workflow.plan), one
for each setting, with all numbers, in plan.csv.
"""

import math
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from snakemake.utils import available_cpu_count

from fairfl.experiments.config import Config, options_of
from fairfl.experiments.workload import usual_config
from fairfl.jobs import own_data
from fairfl.judgement.measurements import totals
from fairfl.judgement.rows import csv_text
from fairfl.planning.budget import (
    Planner,
    Purchase,
    count_hours,
    count_runs,
    describe_purchases,
    planner_of,
)
from fairfl.planning.estimate import Estimate
from fairfl.planning.reference import expected, reference
from fairfl.runtime import atomic, cli
from fairfl.runtime.plain_data import aligned, span
from fairfl.workflow.plan import by_kind, decide, lines, would_run
from fairfl.workflow.rerun import KEPT

STEPS = (1, 5, 20, 100)  # hours at which the summary says what they tell
LONG = 24  # core-hours from which on it proposes a budget
BASES = ("unknown", "scaled", "measured")
SETTINGS = 5  # that tell most: the summary has a line for each


@dataclass(frozen=True)
class SettingLine:
    """One row of plan.csv; the fields are its columns."""

    setting: str
    paper: str
    data: str
    # local, download or unavailable: where the raw data are that still have to be prepared
    data_location: str
    runs: int
    finished: int
    recorded: int
    missing: int
    core_hours: str
    gpu_hours: str
    core_hours_one_seed: str
    gpu_hours_one_seed: str
    estimate_basis: str  # measured, scaled; unknown if it is for any job
    memory_mib: int  # of one job
    numbers: int  # reported ones that its runs check
    numbers_done: int  # those of variants that have finished or are stored
    numbers_without_runs: int
    claims: int  # that speak of the setting
    budget_runs: int  # what `budget` selects
    budget_hours: str
    budget_numbers: int


def setting_line(planner: Planner, setting: str, bought: list[Purchase]) -> SettingLine:
    """A row of plan.csv."""
    workload, numbers, timing = planner.workload, planner.numbers, f"timing/{setting}"
    runs = workload.runs_of(setting)
    waiting = [run for run in runs if not planner.rerun.is_done(f"train/{run.id}")]
    done = [run for run in runs if run not in waiting]
    stored = sum(planner.rerun.stored(f"train/{run.id}") is not None for run in done)
    first = workload.settings[setting].seeds[0]
    one_seed = {job for run in waiting if run.seed == first for job in planner.long_jobs(run)}
    missing = {job for run in waiting for job in planner.long_jobs(run)}
    timed = setting in workload.seconds and workload.has("timing", setting)
    if timed and not planner.rerun.is_done(timing):
        missing.add(timing)
    costs = [planner.estimate(job) for job in sorted(missing)]
    cheap = [planner.estimate(job) for job in one_seed]
    own = [one for one in bought if one.name.split("/")[1] == setting]
    return SettingLine(
        setting=setting,
        paper=workload.paper_of[setting],
        data=workload.settings[setting].data.label,
        data_location=planner.source(planner.missing(waiting[0]) if waiting else ()),
        runs=len(runs),
        finished=len(done) - stored,
        recorded=stored,
        missing=len(waiting),
        core_hours=_hours("core", costs),
        gpu_hours=_hours("gpu", costs),
        core_hours_one_seed=_hours("core", cheap),
        gpu_hours_one_seed=_hours("gpu", cheap),
        estimate_basis=min(
            (cost.basis if cost else "unknown" for cost in costs), key=BASES.index, default=""
        ),
        memory_mib=round(max((cost.memory_mib for cost in costs if cost), default=0)),
        numbers=sum(numbers[setting, variant.untuned] for variant in workload.variants[setting]),
        numbers_done=sum(numbers[setting, one.untuned] for one in {run.variant for run in done}),
        numbers_without_runs=sum(
            count for (of, by), count in numbers.items() if of == setting and isinstance(by, str)
        ),
        claims=planner.claims[setting],
        budget_runs=count_runs(own),
        budget_hours=f"{count_hours(own):.3g}",
        budget_numbers=sum(one.new_verdicts for one in own),
    )


def _hours(device: str, costs: Collection[Estimate | None]) -> str:
    """Sum of some estimates."""
    return f"{math.fsum(getattr(cost, f'{device}_seconds') for cost in costs if cost) / 3600:.3g}"


# -- in words ---------------------------------------------------------------------------------------
def summary(
    planner: Planner,
    rows: list[SettingLine],
    bought: list[Purchase],
    budget: float | None,
    jobs: Mapping[str, int],
) -> list[str]:
    """Sentences: what is done, how long the other `jobs` of each rule take, what they tell; then the settings that
    tell most."""

    def total(column: str) -> float:
        return math.fsum(float(getattr(row, column)) for row in rows)

    numbers, claims = planner.numbers, planner.claims
    done = total("numbers_done") + sum(
        count
        for (_, by), count in numbers.items()
        if isinstance(by, str) and (not by or planner.rerun.is_done(by))
    )
    published = numbers.total()
    never = sum(count for (_, by), count in numbers.items() if by is None)
    # Stored numbers, and those of the last run, may be of more than what is selected.
    selected = (
        line
        for line in planner.compared
        if line.artifact in planner.workload.artifacts and (line.setting, line.variant) in numbers
    )
    unsure = totals(selected, (), planner.workload.papers).numbers.inconclusive
    text = [
        f"done: {total('finished'):,.0f} of {total('runs'):,.0f} trainings here, {total('recorded'):,.0f} stored, "
        f"{total('missing'):,.0f} missing",
        *_takes(planner.workload.scale.scale, rows, jobs, total),
        f"decides: of {published:,} published numbers {done:,.0f} are checked by what is done, "
        + (f"{unsure:,} of them inconclusive without more seeds, " if unsure else "")
        + f"{published - never - done:,.0f} wait for missing runs"
        + (f", {never:,} are measured by no run of this selection" if never else "")
        + f"; claims that can be checked: {claims['']}"
        + (f", and {claims['own']} of your experiments" if claims["own"] else ""),
    ]
    telling = sorted(
        (row for row in rows if row.missing and row.numbers > row.numbers_done),
        key=lambda row: (row.numbers_done - row.numbers, float(row.core_hours)),
    )
    text += _table(telling[:SETTINGS])
    if telling[SETTINGS:]:
        text.append(f"  and {len(telling) - SETTINGS} more settings")
    if budget is not None:
        text.append(describe_purchases(planner, bought, budget))
    elif best := planner.select(math.inf):
        text.append(_worth(planner, best))
    elif left_out := planner.left_out():
        text.append(left_out)
    return text


def _takes(
    scale: str, rows: list[SettingLine], jobs: Mapping[str, int], total: Callable[[str], float]
) -> list[str]:
    """Time that the missing runs take and how it is known; nothing if none is missing."""
    missing, cores = [row for row in rows if row.estimate_basis], available_cpu_count()
    if expected_time := expected(scale, cores, jobs):
        return [f"takes: {expected_time.removeprefix('; ')} on all {cores} cores here"]
    if not missing:
        return []
    core, gpu, one_seed = map(total, ("core_hours", "gpu_hours", "core_hours_one_seed"))
    how = {
        "measured": "measured by runs of the same setting and algorithm",
        "scaled": "scaled from other runs by samples and rounds",
    }
    bases = {row.estimate_basis for row in missing}
    text = [
        f"takes: about {in_time(core)} on a core, {in_time(core / cores)} on all {cores} here, or {in_time(gpu)} on an "
        f"{reference()['gpu']['processor']}; jobs without trainings take seconds each",
        f"   one seed of each: {in_time(one_seed)} on a core; up to {max(row.memory_mib for row in missing):,} MiB of "
        "memory a job",
        f"   hours are {', or '.join(words for key, words in how.items() if key in bases) or 'unknown'}",
    ]
    if unknown := [row.setting for row in missing if row.estimate_basis == "unknown"]:
        text.append(f"   of {', '.join(unknown)} some hours are unknown and count nothing")
    if gone := [row.setting for row in missing if row.data_location == "unavailable"]:
        text.append(f"   raw data are neither here nor may they be downloaded: {', '.join(gone)}")
    return text


def in_time(hours: float) -> str:
    """'48 s', '3 h 20 min', '12 days'."""
    return span(hours * 3600) if hours < 48 else f"{hours / 24:,.0f} days"


def _worth(planner: Planner, bought: list[Purchase]) -> str:
    """Numbers that the first hours check, spent on the runs that tell most."""
    hours, checked = 0.0, 0
    steps, parts = list(STEPS), []
    for one in bought:
        while steps and hours + one.hours > steps[0]:
            parts.append(f"{checked:,} after {steps.pop(0)}")
        hours, checked = hours + one.hours, checked + one.new_verdicts
    parts.append(f"{checked:,} after {f'{hours:,.0f}' if hours >= 10 else f'{hours:.2g}'}")
    worth = f"numbers checked by {planner.unit}, the most informative runs first, of what can run here: "
    return "\n   ".join(filter(None, (worth + ", ".join(parts), planner.left_out())))


def _table(rows: list[SettingLine]) -> list[str]:
    """The columns that matter most, aligned."""
    titles = ("  numbers", "setting", "missing", "on a core", "data")
    cells = [
        (
            f"{row.numbers - row.numbers_done:>9,}",
            row.setting,
            f"{row.missing:,} of {row.runs:,}",
            in_time(float(row.core_hours)) if row.estimate_basis != "unknown" else "unknown",
            row.data_location,
        )
        for row in rows
    ]
    return aligned([titles, *cells]) if cells else []


def command(root: Path, config: Config) -> str:
    """Command that runs what this configuration asks for."""
    usual = usual_config(root).model_dump(mode="json")
    changed = {
        key: value for key, value in config.model_dump(mode="json").items() if value != usual[key]
    }
    return shlex.join(["fairfl", "run", *options_of(changed)])


def main(argv: list[str] | None = None) -> None:
    planner, asked = planner_of(argv, __doc__)
    budget, root, page = asked.budget, planner.root, planner.graph.job("page").outputs[0]
    planner.rerun.say = print
    decided = decide(planner.rerun)
    reasons = by_kind(decided)
    detailed, path = planner.results / "plan.txt", planner.results / "plan.csv"
    bought = [] if budget is None else planner.select(budget)
    marked = {job for one in bought for job in one.jobs}
    atomic.write_text(detailed, "\n".join(lines(planner.rerun, decided, marked)) + "\n")
    rows = [setting_line(planner, setting, bought) for setting in planner.workload.variants]
    atomic.write_text(path, csv_text(rows, SettingLine))
    scale = planner.workload.scale.scale
    if not reasons:
        print(f"nothing to do at scale {scale}: every result is as today's code makes it; {page}")
        return
    jobs = {rule: counts.total() - counts[KEPT] for rule, counts in reasons.items()}
    text = summary(planner, rows, bought, budget, jobs)
    print(*would_run(reasons, scale), "", *text, "", sep="\n")
    if budget is not None:
        print(f"the jobs above are of all runs; {detailed} marks the budget's")
    own = own_data.partition_own_data(planner.workload)
    for row in rows:
        if row.missing and row.setting in own:
            print(f"{row.setting}: {'; '.join(own[row.setting])}")
    print(f"to run it: {command(root, asked)}")
    if budget is None and math.fsum(float(row.core_hours) for row in rows) > LONG:
        some = asked.model_copy(update={"budget": STEPS[1]})
        print(f"or what decides most in {STEPS[1]} hours: {command(root, some)}")
    print(f"then see:  {page}")
    print(f"details:   {detailed} (each job), {path} (each setting)")


if __name__ == "__main__":
    cli.run(main, teardown=False)
