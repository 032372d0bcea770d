"""The runs with the most checked numbers per hour, as many as a budget of hours has room for.

Runs are taken one after the other, always the one that tells most per hour of what it needs and nobody has computed
yet: itself, local optima and surrogates that its losses are held against, a run that must come first, the baseline that
its clients are compared with. First one seed of each variant, its first one. Then, of those whose verdicts hang on
noise, a second seed of each, and so on. What has finished or is recorded costs nothing and tells nothing new.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Literal

from fairfl.experiments.variant import Run, Variant
from fairfl.experiments.workload import load_workload
from fairfl.judgement.measurements import INCONCLUSIVE, totals
from fairfl.judgement.recorded import COMPARISON, recorded_numbers
from fairfl.judgement.rows import ComparisonLine, records
from fairfl.planning import data, targets
from fairfl.planning.costs import LONG, Costs
from fairfl.planning.targets import Numbers
from fairfl.recorded.record import SCALE
from fairfl.runtime import cli
from fairfl.runtime.machine import memory_mib
from fairfl.runtime.validation import from_text
from fairfl.workflow import snakemake
from fairfl.workflow.graph import Graph, Job
from fairfl.workflow.recorded import RULES, rerun_of

Obstacle = Literal["download", "unavailable", "unknown", "memory"]
_WHY: dict[Obstacle, str] = {
    "download": "whose data must be downloaded first ({data}; budget_downloads: true takes them)",
    "unavailable": "whose data are neither here nor to be downloaded ({data})",
    "unknown": "whose hours are unknown ({data})",
    "memory": "that need more memory than this machine has ({data})",
}


@dataclass(frozen=True)
class Candidate:
    """A run that may be computed: the jobs that it and its losses need and nobody has computed, itself among them."""

    name: str  # of its training job
    jobs: frozenset[str]
    new_verdicts: int  # numbers that the run itself would check


@dataclass(frozen=True)
class Pick:
    """A candidate that was taken."""

    name: str
    jobs: tuple[str, ...]  # those that no earlier one has paid
    hours: float
    new_verdicts: int  # with the other runs among the jobs

    @property
    def rank(self) -> tuple[float, float, str]:
        """The least one is taken first."""
        return -self.new_verdicts / max(self.hours, 1e-12), self.hours, self.name


def greedy(
    candidates: Iterable[Candidate],
    hours: Mapping[str, float],
    budget: float,
    paid: Iterable[str] = (),
) -> list[Pick]:
    """The most telling per hour first, as long as they fit into what is left; ties by cost, then by name.

    `hours` of each job; those that are `paid` cost nothing. Candidates that tell nothing are not taken.
    """
    waiting = {one.name: one for one in sorted(candidates, key=attrgetter("name"))}
    tells = {name: candidate.new_verdicts for name, candidate in waiting.items()}
    done, left = set(paid), budget
    picks: list[Pick] = []
    offers: dict[str, Pick] = {}
    while True:
        for name, candidate in waiting.items():
            if name not in offers:
                jobs = sorted(candidate.jobs - done)
                cost = math.fsum(hours[job] for job in jobs)
                offers[name] = Pick(name, tuple(jobs), cost, sum(tells.get(job, 0) for job in jobs))
        fitting = [offer for offer in offers.values() if offer.new_verdicts and offer.hours <= left]
        if not fitting:
            return picks
        best = min(fitting, key=attrgetter("rank"))
        picks.append(best)
        done.update(best.jobs)
        left = budget - math.fsum(pick.hours for pick in picks)
        waiting = {name: one for name, one in waiting.items() if name not in done}
        stand = [offer for offer in offers.values() if done.isdisjoint((offer.name, *offer.jobs))]
        offers = {offer.name: offer for offer in stand}


@dataclass
class Planner:
    """What is done, what is missing, and what each missing run needs, of one graph."""

    graph: Graph
    root: Path
    counted: Numbers | None = None
    _missing: dict[str, frozenset[str]] = field(default_factory=dict)
    _sources: dict[str, data.Source] = field(default_factory=dict)
    _left_out: dict[tuple[str, Variant], Obstacle] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workload = self.graph.workload
        self.rerun = rerun_of(self.graph)

    @cached_property
    def numbers(self) -> Numbers:
        return self.counted or targets.numbers(self.workload, self.root)

    @cached_property
    def costs(self) -> Costs:
        return Costs(self.rerun, self.rerun.needed(self.graph.everything()))

    @property
    def results(self) -> Path:
        return Path("results", self.workload.scale.scale)

    def job(self, run: Run) -> Job:
        return self.graph.job(f"train/{run.id}")

    def done(self, name: str) -> bool:
        """True if a job has finished here or is in the record that this configuration uses."""
        return not self.rerun.verdict(name).reason or name in self.rerun.restorations

    # -- what a run needs -------------------------------------------------------------------------
    def needed(self, run: Run) -> list[Job]:
        """All jobs that must run before the run's numbers can be checked, itself among them; none if it is done."""
        if self.done(self.job(run).name):
            return []
        targets_of_run = [f"train/{run.id}", *self.references(run)]
        baseline = self.workload.baseline(run.setting)
        if baseline is not None:
            targets_of_run.append(f"train/{Run(run.setting, baseline, run.seed).id}")
        return [
            job
            for job in self.graph.below(targets_of_run, self.rerun.is_leaf)
            if not self.done(job.name)
        ]

    def references(self, run: Run) -> list[str]:
        """Local optima and surrogates that the losses of a run are held against."""
        read = self.graph.job(f"collect/{run.setting}").inputs
        kinds = tuple(
            f"{rule}/{run.setting}/seed{run.seed}/" for rule in ("local_optimum", "surrogate")
        )
        return [name for name in read if name.startswith(kinds)]

    def missing(self, run: Run) -> frozenset[str]:
        """The long ones of these."""
        if run.id not in self._missing:
            self._missing[run.id] = frozenset(
                job.name for job in self.needed(run) if job.rule in LONG
            )
        return self._missing[run.id]

    def source(self, run: Run) -> data.Source:
        """Where the raw files come from that a run needs and that are not prepared yet."""
        keys = [job.name.removeprefix("fetch/") for job in self.needed(run) if job.rule == "fetch"]
        for key in keys:
            if key not in self._sources:
                self._sources[key] = data.source(self.workload, key)
        return data.farthest(self._sources[key] for key in keys)

    def reason_not_runnable(self, run: Run) -> Obstacle | None:
        """Why a run cannot be computed here as it is; None if it can."""
        source = self.source(run)
        if source == "unavailable" or (
            source == "download" and not self.workload.config.budget_downloads
        ):
            return source
        jobs = [self.graph.job(name) for name in self.missing(run)]
        if any(self.costs.hours(job) is None for job in jobs):
            return "unknown"
        on_cpu = self.costs.on == "core_hours"
        return (
            "memory"
            if on_cpu and any(self.costs.of(job).memory_mib > memory_mib() for job in jobs)
            else None
        )

    def left_out(self) -> str:
        """What `select` did not take because it cannot run here, in words; '' if there is nothing."""
        parts = []
        for kind, why in _WHY.items():
            places = [place for place, found in self._left_out.items() if found == kind]
            names = dict.fromkeys(
                self.workload.settings[setting].data.name for setting, _ in places
            )
            if places:
                parts.append(f"{len(places)} {why.format(data=', '.join(names))}")
        return f"left out, one seed each: {'; '.join(parts)}" if parts else ""

    # -- what is worth it -------------------------------------------------------------------------
    def first(self) -> list[Candidate]:
        """One seed of each variant: those without any that is done."""
        return self._candidates(0, lambda run: self.numbers.of_runs[run.setting, run.variant])

    def further(self, number: int) -> list[Candidate]:
        """The variants that have so many seeds, each with its next one; they tell what hangs on noise."""
        hanging = self.hanging
        return self._candidates(
            number, lambda run: hanging.get((run.setting, run.variant.untuned), 0)
        )

    def _candidates(self, seeds: int, tells: Callable[[Run], int]) -> list[Candidate]:
        by_variant: dict[tuple[str, Variant], list[Run]] = {}
        for run in self.workload.runs:
            by_variant.setdefault((run.setting, run.variant), []).append(run)
        found = []
        for place, runs in by_variant.items():
            waiting = [run for run in runs if not self.done(self.job(run).name)]
            if len(runs) - len(waiting) != seeds or not waiting or not tells(waiting[0]):
                continue
            if (obstacle := self.reason_not_runnable(waiting[0])) is None:
                found.append(
                    Candidate(
                        self.job(waiting[0]).name, self.missing(waiting[0]), tells(waiting[0])
                    )
                )
            elif not seeds:
                self._left_out[place] = obstacle
        return found

    @cached_property
    def compared(self) -> list[ComparisonLine]:
        """The rows of comparison.csv as the last run of the workflow has left them, else as the record has them."""
        path, config = self.results / "comparison.csv", self.workload.config
        if path.is_file():
            return records(path, "comparison", ComparisonLine)
        known = (
            config.scale == SCALE
            and config.recorded != "ignore"
            and (self.root / COMPARISON).exists()
        )
        return recorded_numbers(self.root) if known else []

    @cached_property
    def inconclusive(self) -> int:
        """How many of these numbers tell nothing, for want of seeds."""
        return totals(self.compared, (), self.workload.papers).numbers.inconclusive

    @cached_property
    def hanging(self) -> dict[tuple[str, Variant], int]:
        """Numbers by setting and variant that might have another verdict if there were more seeds."""
        found: dict[tuple[str, Variant], int] = {}
        for line in self.compared:
            if may_change_with_more_seeds(line):
                place = line.setting, line.variant
                found[place] = found.get(place, 0) + 1
        return found

    def select(self, budget: float) -> list[Pick]:
        """The picks of a budget, stage by stage."""
        picks: list[Pick] = []
        most = max((len(setting.seeds) for setting in self.workload.settings.values()), default=0)
        for seeds in range(most):
            candidates = self.first() if seeds == 0 else self.further(seeds)
            hours = {
                job: self.costs.hours(self.graph.job(job)) or 0.0
                for c in candidates
                for job in c.jobs
            }
            # Baselines and runs that come first may be worth something themselves.
            left = budget - math.fsum(pick.hours for pick in picks)
            picks += greedy(candidates, hours, left, [job for pick in picks for job in pick.jobs])
        return picks

    def available(self, picks: Iterable[Pick]) -> frozenset[str]:
        """Names of the jobs that there may be, of those that take long or need data: what is done, and the picks."""
        chosen = {job for pick in picks for job in pick.jobs}
        every = {
            job.name: job for job in self.rerun.needed(self.graph.everything()) if job.rule in RULES
        }
        done = {name for name in every if self.done(name)}
        below = {
            job.name
            for job in self.graph.below(sorted(chosen), self.rerun.is_leaf)
            if job.rule in RULES
        }
        here = {
            name for name, job in every.items() if job.rule == "partition" and self._at_hand(job)
        }
        return frozenset(done | chosen | below | here)

    def _at_hand(self, partition: Job) -> bool:
        jobs = (
            job
            for job in self.graph.below([partition.name], self.rerun.is_leaf)
            if not self.done(job.name)
        )
        return all(
            job.rule != "fetch" or data.source(self.workload, job.name[6:]) == "local"
            for job in jobs
        )


def may_change_with_more_seeds(line: ComparisonLine) -> bool:
    """True if a line of comparison.csv might have another verdict with one seed more.

    It is inconclusive: with more seeds its tolerance is narrower, and no mere lower bound. Or it does not agree, but
    nothing is known of its noise, or it misses the tolerance by no more than one seed scatters.
    """
    if line.verdict not in ("close", "differs", INCONCLUSIVE) or line.difference is None:
        return False
    if line.verdict == INCONCLUSIVE:
        return True
    if line.seed_std is None:
        return True
    return abs(line.difference) <= (line.tolerance or 0.0) + line.seed_std


def describe_picks(planner: Planner, picks: list[Pick], budget: float) -> str:
    """What a budget buys."""
    hours, told = math.fsum(pick.hours for pick in picks), sum(pick.new_verdicts for pick in picks)
    trainings = sum(job.startswith("train/") for pick in picks for job in pick.jobs)
    unit = "GPU-hours" if planner.costs.on == "gpu_hours" else "core-hours"
    buys = f"{trainings} of {len(planner.workload.runs)} trainings in about {hours:.3g}, which check {told} numbers"
    return "; ".join(filter(None, (f"budget of {budget:g} {unit}: {buys}", planner.left_out())))


def main(argv: list[str] | None = None) -> None:
    """Print, as JSON, the jobs that a budget leaves (fairfl.planning.restriction asks)."""
    parser = argparse.ArgumentParser(prog="python -m fairfl.planning.budget", description=__doc__)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    args = parser.parse_args(argv)
    config = from_text(args.config, dict, "--config")
    budget = load_workload(args.root, config).config.budget or 0.0
    planner = Planner(snakemake.parsed(args.root, config | {"budget": None})["graph"], args.root)
    picks = planner.select(budget)
    print(describe_picks(planner, picks, budget), file=sys.stderr)
    print(json.dumps(sorted(planner.available(picks))))


if __name__ == "__main__":
    cli.run(main, teardown=False)  # torch takes long to take down, and says much
