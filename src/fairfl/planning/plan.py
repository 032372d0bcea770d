"""python -m fairfl.planning.plan: what would run, and why; what that costs, and what it would tell. Runs nothing.

A summary in words. A line for each job is in results/<scale>/plan.txt (fairfl.workflow.plan), one for each setting,
with all numbers, in plan.csv beside it.
"""

import argparse
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fairfl.experiments.workload import load_workload
from fairfl.planning import speed, targets
from fairfl.planning.budget import Pick, Planner, in_words
from fairfl.planning.costs import Cost
from fairfl.planning.reference import reference
from fairfl.reporting.cells import csv_text
from fairfl.runtime import atomic, cli
from fairfl.runtime.validation import from_text
from fairfl.workflow import snakemake
from fairfl.workflow.plan import by_kind, lines, table

STEPS = (1, 5, 20, 100)  # hours at which the summary says what they tell
SETTINGS = 12  # with runs to do, that the summary has a line for


@dataclass(frozen=True)
class SettingLine:
    """One row of plan.csv; the fields are its columns."""

    setting: str
    paper: str
    data: str
    files: str  # here, download or missing: where the raw data are that still have to be prepared
    runs: int
    finished: int
    recorded: int
    missing: int
    core_hours: str
    gpu_hours: str
    core_hours_one_seed: str
    gpu_hours_one_seed: str
    known: str  # how most of the hours are known: measured, scaled, estimated
    memory_mib: int  # of one job
    disk_mib: str
    numbers: int  # reported ones that its runs judge
    numbers_done: int  # those of variants that have finished or are recorded
    numbers_without_runs: int
    claims: int  # that speak of the setting
    budget_runs: int  # what `budget` selects
    budget_hours: str
    budget_numbers: int


def setting_lines(planner: Planner, picks: list[Pick]) -> list[SettingLine]:
    """In the order of the workload; settings without runs are left out."""
    claims = targets.decidable_claims(planner.workload)
    return [_line(planner, setting, picks, claims[setting]) for setting in planner.workload.variants]


def _line(planner: Planner, setting: str, picks: list[Pick], claims: int) -> SettingLine:
    workload, numbers = planner.workload, planner.numbers
    runs = workload.runs_of(setting)
    done = [run for run in runs if planner.done(f"train/{run.id}")]
    recorded = [run for run in done if _from_record(planner, f"train/{run.id}")]
    missing = {job for run in runs for job in planner.missing(run)}
    if setting in workload.seconds and workload.has("timing", setting) and not planner.done(f"timing/{setting}"):
        missing.add(f"timing/{setting}")
    first = workload.settings[setting].seeds[0]
    one_seed = {job for run in runs if run.seed == first for job in planner.missing(run)}
    costs = {job: planner.costs.of(planner.graph.job(job)) for job in sorted(missing)}
    own = [pick for pick in picks if pick.name.split("/")[1] == setting]
    waiting = [run for run in runs if run not in done]
    return SettingLine(
        setting=setting,
        paper=workload.paper_of[setting],
        data=workload.settings[setting].data.label,
        files=planner.source(waiting[0]) if waiting else "here",
        runs=len(runs),
        finished=len(done) - len(recorded),
        recorded=len(recorded),
        missing=len(waiting),
        core_hours=_hours(costs.values(), "core_hours"),
        gpu_hours=_hours(costs.values(), "gpu_hours"),
        core_hours_one_seed=_hours((costs[job] for job in one_seed), "core_hours"),
        gpu_hours_one_seed=_hours((costs[job] for job in one_seed), "gpu_hours"),
        known=_mostly(list(costs.values())),
        memory_mib=round(max((cost.memory_mib for cost in costs.values()), default=0)),
        disk_mib=f"{sum(cost.disk_mib for cost in costs.values()):.3g}",
        numbers=sum(numbers.of_runs[setting, variant] for variant in workload.variants[setting]),
        numbers_done=sum(numbers.of_runs[setting, variant] for variant in {run.variant for run in done}),
        numbers_without_runs=numbers.of_settings[setting] + numbers.chosen[setting],
        claims=claims,
        budget_runs=sum(job.startswith("train/") for pick in own for job in pick.jobs),
        budget_hours=f"{math.fsum(pick.hours for pick in own):.3g}",
        budget_numbers=sum(pick.tells for pick in own),
    )


def _from_record(planner: Planner, name: str) -> bool:
    return name in planner.rerun.restorations or bool((planner.rerun.record(name) or {}).get("recorded"))


def _hours(costs: Iterable[Cost], on: str) -> str:
    return f"{math.fsum(getattr(cost, on) for cost in costs):.3g}"


def _mostly(costs: list[Cost]) -> str:
    """How the largest part of the hours is known; unknown if any is."""
    by_kind = dict.fromkeys(("unknown", "measured", "scaled", "estimated"), 0.0)
    for cost in costs:
        by_kind[cost.known] += cost.core_hours + cost.gpu_hours if cost.known != "unknown" else math.inf
    return max(by_kind, key=by_kind.__getitem__) if costs else ""


# -- in words ---------------------------------------------------------------------------------------
def summary(planner: Planner, rows: list[SettingLine], picks: list[Pick], budget: float | None) -> list[str]:
    """A table of the settings that have runs to do, and sentences."""
    waiting = sorted(
        (row for row in rows if row.missing), key=lambda row: (row.numbers_done - row.numbers, -float(row.core_hours))
    )
    text = _table(waiting[:SETTINGS])
    if waiting[SETTINGS:]:
        text.append(f"and {len(waiting) - SETTINGS} more settings with fewer numbers to judge")
    scale, gpu = planner.workload.scale.scale, reference()["gpu"]

    def total(column: str) -> float:
        return math.fsum(float(getattr(row, column)) for row in rows)

    text += [
        f"scale {scale}: {total('runs'):.0f} trainings, of which {total('finished'):.0f} have finished here, "
        f"{total('recorded'):.0f} are recorded and {total('missing'):.0f} are missing",
        f"the missing ones take about {_short(total('core_hours'))} core-hours, or {_short(total('gpu_hours'))} hours "
        f"of an {gpu['processor']} ({gpu['basis']}); one seed of each: {_short(total('core_hours_one_seed'))} or "
        f"{_short(total('gpu_hours_one_seed'))}; {_short(total('disk_mib'))} MiB of disk, up to "
        f"{max((row.memory_mib for row in rows), default=0):,} MiB of memory a job",
        f"reported numbers that can be judged: {total('numbers') + total('numbers_without_runs'):.0f}, "
        f"{total('numbers_done'):.0f} of them by runs that are done, {total('numbers_without_runs'):.0f} without runs; "
        f"claims: {targets.decidable_claims(planner.workload)['']}",
    ]
    kinds = [row.known for row in rows if row.missing]
    if "estimated" in kinds or "scaled" in kinds:
        text.append(
            "hours are measured, scaled from measured runs, or estimated from counted operations at "
            f"{speed.gflops():.0f} GFLOP/s, what a matrix product reaches on a core here"
        )
    if unknown := [row.setting for row in rows if row.known == "unknown"]:
        text.append(f"of {', '.join(unknown)} some hours are unknown and count nothing")
    if gone := [row.setting for row in rows if row.files == "missing" and row.missing]:
        text.append(f"raw data are neither here nor may they be downloaded: {', '.join(gone)}")
    if budget is None and (best := planner.select(math.inf)):
        text.append(_worth(planner, best))
    if budget is not None:
        text.append(in_words(planner, picks, budget))
    return text


def _worth(planner: Planner, picks: list[Pick]) -> str:
    """What the first hours tell, spent on the runs that tell most."""
    unit = "GPU-hours" if planner.costs.on == "gpu_hours" else "core-hours"
    hours, told = 0.0, 0
    steps, parts = list(STEPS), []
    for pick in picks:
        while steps and hours + pick.hours > steps[0]:
            parts.append(f"{told:,} after {steps.pop(0)} {unit}")
        hours, told = hours + pick.hours, told + pick.tells
    parts.append(f"{told:,} after {_short(hours)}")
    return f"numbers that more runs would judge, the best first, where data are here or can be had: {', '.join(parts)}"


def _table(rows: list[SettingLine]) -> list[str]:
    """The columns that matter most, aligned."""
    titles = ("setting", "missing", "core-hours", "one seed", "GPU-hours", "known", "numbers", "data")
    cells = [
        (
            row.setting,
            f"{row.missing} of {row.runs}",
            row.core_hours,
            row.core_hours_one_seed,
            row.gpu_hours,
            row.known,
            f"{row.numbers - row.numbers_done} of {row.numbers}",
            row.files,
        )
        for row in rows
    ]
    if not cells:
        return []
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in [titles, *cells]]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.planning.plan", description=__doc__)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    parser.add_argument("--jobs-only", action="store_true", help="only the line per job: no costs, no CSV")
    args = parser.parse_args(argv)
    config = from_text(args.config, dict, "--config")
    budget = load_workload(args.root, config).config.budget  # a bad configuration is one line, without Snakemake's
    graph = snakemake.parsed(args.root, config | {"budget": None})["graph"]
    if args.jobs_only:
        print("\n".join(lines(graph)))
        return
    planner = Planner(graph, args.root)
    reasons, page = by_kind(planner.rerun), graph.job("page").outputs[0]
    detailed, path = planner.results / "plan.txt", planner.results / "plan.csv"
    atomic.write_text(detailed, "\n".join(lines(graph)) + "\n")
    picks = [] if budget is None else planner.select(budget)
    rows = setting_lines(planner, picks)
    atomic.write_text(path, csv_text(rows, SettingLine))
    if not reasons:
        print(
            f"nothing to do at scale {planner.workload.scale.scale}: every result is as today's code makes it; {page}"
        )
        return
    print("\n".join(["would run:", *table(reasons), ""]))
    print("\n".join(summary(planner, rows, picks, budget)))
    print(f"each job with its reason: {detailed}; each setting with more columns: {path}")
    print(f"`snakemake --cores all` with the same --config runs it; the page will be {page}")


if __name__ == "__main__":
    # Costs may have loaded torch, which takes long to take down, and says much.
    cli.run(main, teardown="--jobs-only" in sys.argv)
