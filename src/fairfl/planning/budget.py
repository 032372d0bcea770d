"""The runs with the most checked numbers per hour, as many as a budget of hours has room for.

Runs are taken one after the other, always the one that tells most per hour of what it needs and nobody has computed
yet: itself, local optima and surrogates that its losses are held against, a run that must come first, the baseline that
its clients are compared with. First one seed of each variant, its first one. Then, of those whose verdicts hang on
noise, a second seed of each, and so on. What has finished or is stored costs nothing and tells nothing new.
"""

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path

from fairfl.experiments.config import Config
from fairfl.experiments.variant import Run, Variant
from fairfl.experiments.workload import load_workload
from fairfl.judgement.measurements import INCONCLUSIVE
from fairfl.judgement.recorded import COMPARISON, recorded_numbers
from fairfl.judgement.rows import ComparisonLine, records
from fairfl.planning import data, targets
from fairfl.planning.estimate import RULES as LONG
from fairfl.planning.estimate import Estimate, estimate
from fairfl.recorded.record import SCALE
from fairfl.runtime import cli
from fairfl.runtime.validation import from_text
from fairfl.workflow import snakemake
from fairfl.workflow.environment import gpus_per_job
from fairfl.workflow.graph import Graph, Job
from fairfl.workflow.recorded import RULES, rerun_of

_OBSTACLES = {
    "download": "whose data must be downloaded first ({data}; budget_downloads: true takes them)",
    "unavailable": "whose data are neither here nor to be downloaded ({data})",
    "unknown": "whose hours are unknown ({data})",
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
        for name in waiting.keys() - offers.keys():
            jobs = sorted(waiting[name].jobs - done)
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
        offers = {name: one for name, one in offers.items() if done.isdisjoint((name, *one.jobs))}


class Planner:
    """What is done, what is missing, and what each missing run needs, of one graph."""

    def __init__(self, graph: Graph, root: Path) -> None:
        self.graph, self.root, self.workload = graph, root, graph.workload
        self.rerun = rerun_of(graph)
        self.results = Path("results", self.workload.scale.scale)
        self.on_gpu = gpus_per_job(self.workload.config) > 0  # what a budget is of
        self._missing: dict[str, list[Job]] = {}
        self._estimates: dict[tuple[str, ...], Estimate | None] = {}
        self._source = cache(lambda key: data.source(self.workload, key))
        self._left_out: dict[tuple[str, Variant], str] = {}

    @cached_property
    def numbers(self) -> targets.Numbers:
        return targets.numbers(self.workload, self.root)

    @property
    def unit(self) -> str:
        return "GPU-hours" if self.on_gpu else "core-hours"

    def is_done(self, name: str) -> bool:
        """True if a job has finished here or is among the stored results that this configuration uses."""
        return self.rerun.is_done(name)

    def estimate(self, name: str) -> Estimate | None:
        """What a long job takes if it runs: the same for all seeds, clients and clusters."""
        kind = tuple(name.split("/")[: 4 if name.startswith("train/") else 2])
        if kind not in self._estimates:
            self._estimates[kind] = estimate(name, self.graph.job(name).parsed, self.results)
        return self._estimates[kind]

    def hours(self, name: str) -> float:
        """Hours of a core, or of a GPU where jobs run on one; 0 where it is unknown."""
        found = self.estimate(name)
        seconds = 0.0 if found is None else found.gpu_seconds if self.on_gpu else found.core_seconds
        return seconds / 3600

    # -- what a run needs -------------------------------------------------------------------------
    def missing(self, run: Run) -> list[Job]:
        """All jobs that must run before the run's numbers can be checked, itself among them; none if it is done."""
        if run.id not in self._missing:
            name, baseline = f"train/{run.id}", self.workload.baseline(run.setting)
            wanted = [] if self.is_done(name) else [name, *self._references(run)]
            if wanted and baseline is not None:
                wanted.append(f"train/{Run(run.setting, baseline, run.seed).id}")
            below = self.graph.below(wanted, self.rerun.is_leaf)
            self._missing[run.id] = [job for job in below if not self.is_done(job.name)]
        return self._missing[run.id]

    def _references(self, run: Run) -> list[str]:
        """Local optima and surrogates that the losses of a run are compared with."""
        kinds = tuple(
            f"{rule}/{run.setting}/seed{run.seed}/" for rule in ("local_optimum", "surrogate")
        )
        return [
            name
            for name in self.graph.job(f"collect/{run.setting}").inputs
            if name.startswith(kinds)
        ]

    def long_jobs(self, run: Run) -> frozenset[str]:
        """Names of those of the missing jobs that take long."""
        return frozenset(job.name for job in self.missing(run) if job.rule in LONG)

    def source(self, run: Run) -> data.Source:
        """Where the raw files come from that a run needs and that are not prepared yet."""
        keys = [job.name.removeprefix("fetch/") for job in self.missing(run) if job.rule == "fetch"]
        return data.farthest(map(self._source, keys))

    def obstacle(self, run: Run) -> str | None:
        """Why a run cannot be computed here as it is, one of `_OBSTACLES`; None if it can."""
        source = self.source(run)
        downloads = self.workload.config.budget_downloads
        if source == "unavailable" or (source == "download" and not downloads):
            return source
        known = all(self.estimate(name) is not None for name in self.long_jobs(run))
        return None if known else "unknown"

    def left_out(self) -> str:
        """What `select` did not take because it cannot run here, in words; '' if there is nothing."""
        parts = []
        for kind, why in _OBSTACLES.items():
            settings = [setting for (setting, _), found in self._left_out.items() if found == kind]
            names = dict.fromkeys(self.workload.settings[name].data.name for name in settings)
            if settings:
                parts.append(f"{len(settings)} {why.format(data=', '.join(names))}")
        return f"left out, one seed each: {'; '.join(parts)}" if parts else ""

    # -- what is worth it -------------------------------------------------------------------------
    def _candidates(self, seeds: int, hanging: Counter[tuple[str, Variant]]) -> Iterable[Candidate]:
        """Of the variants that have so many seeds the next run, if it tells anything."""
        by_variant: dict[tuple[str, Variant], list[Run]] = {}
        for run in self.workload.runs:
            by_variant.setdefault((run.setting, run.variant), []).append(run)
        for (setting, variant), runs in by_variant.items():
            waiting = [run for run in runs if not self.is_done(f"train/{run.id}")]
            first = self.numbers.of_runs[setting, variant]
            tells = hanging[setting, variant.untuned] if seeds else first
            if len(runs) - len(waiting) != seeds or not waiting or not tells:
                continue
            if (obstacle := self.obstacle(waiting[0])) is None:
                yield Candidate(f"train/{waiting[0].id}", self.long_jobs(waiting[0]), tells)
            elif not seeds:
                self._left_out[setting, variant] = obstacle

    @cached_property
    def compared(self) -> list[ComparisonLine]:
        """The rows of comparison.csv as the last run of the workflow has left them, else the stored ones."""
        path, config = self.results / "comparison.csv", self.workload.config
        if path.is_file():
            return records(path, "comparison", ComparisonLine)
        stored = config.scale == SCALE and config.recorded != "ignore"
        return recorded_numbers(self.root) if stored and (self.root / COMPARISON).exists() else []

    def select(self, budget: float) -> list[Pick]:
        """The picks of a budget, stage by stage."""
        hanging = Counter(
            (line.setting, line.variant)
            for line in self.compared
            if may_change_with_more_seeds(line)
        )
        picks: list[Pick] = []
        most = max((len(setting.seeds) for setting in self.workload.settings.values()), default=0)
        for seeds in range(most):
            candidates = list(self._candidates(seeds, hanging))
            hours = {job: self.hours(job) for one in candidates for job in one.jobs}
            # Baselines and runs that come first may be worth something themselves.
            left = budget - math.fsum(pick.hours for pick in picks)
            picks += greedy(candidates, hours, left, [job for pick in picks for job in pick.jobs])
        return picks

    def available(self, picks: Iterable[Pick]) -> frozenset[str]:
        """Names of the jobs that there may be, of those that take long or need data: what is done, and the picks."""
        chosen = {job for pick in picks for job in pick.jobs}
        below = {job.name for job in self.graph.below(sorted(chosen), self.rerun.is_leaf)}
        every = self.rerun.needed(self.graph.everything())
        here = {
            job.name
            for job in every
            if self.is_done(job.name) or (job.rule == "partition" and self._is_at_hand(job))
        }
        return frozenset(name for name in chosen | below | here if name.partition("/")[0] in RULES)

    def _is_at_hand(self, partition: Job) -> bool:
        jobs = self.graph.below([partition.name], self.rerun.is_leaf)
        return all(
            job.rule != "fetch" or self._source(job.name.removeprefix("fetch/")) == "local"
            for job in jobs
            if not self.is_done(job.name)
        )


def may_change_with_more_seeds(line: ComparisonLine) -> bool:
    """True if a line of comparison.csv might have another verdict with one seed more.

    It is inconclusive: with more seeds its tolerance is narrower, and no mere lower bound. Or it does not agree, but
    nothing is known of its noise, or it misses the tolerance by no more than one seed scatters.
    """
    if line.verdict not in ("close", "differs", INCONCLUSIVE) or line.difference is None:
        return False
    if line.verdict == INCONCLUSIVE or line.seed_std is None:
        return True
    return abs(line.difference) <= (line.tolerance or 0.0) + line.seed_std


def describe_picks(planner: Planner, picks: list[Pick], budget: float) -> str:
    """What a budget buys."""
    hours, told = math.fsum(pick.hours for pick in picks), sum(pick.new_verdicts for pick in picks)
    trainings = sum(job.startswith("train/") for pick in picks for job in pick.jobs)
    buys = f"{trainings} of {len(planner.workload.runs)} trainings in about {hours:.3g}, which check {told} numbers"
    said = f"budget of {budget:g} {planner.unit}: {buys}"
    return "; ".join(filter(None, (said, planner.left_out())))


def planner_of(argv: list[str] | None, module: str, about: str | None) -> tuple[Planner, Config]:
    """Planner of all runs, and the configuration, with its budget, that a command was called with."""
    parser = argparse.ArgumentParser(prog=f"python -m fairfl.planning.{module}", description=about)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    args = parser.parse_args(argv)
    config = from_text(args.config, dict, "--config")
    # A bad configuration is one line, without Snakemake's.
    asked = load_workload(args.root, config).config
    graph = snakemake.parsed(args.root, config | {"budget": None})["graph"]
    return Planner(graph, args.root), asked


def main(argv: list[str] | None = None) -> None:
    """Print, as JSON, the jobs that a budget leaves (fairfl.planning.restriction asks)."""
    planner, asked = planner_of(argv, "budget", __doc__)
    budget = asked.budget or 0.0
    picks = planner.select(budget)
    print(describe_picks(planner, picks, budget), file=sys.stderr)
    print(json.dumps(sorted(planner.available(picks))))


if __name__ == "__main__":
    cli.run(main, teardown=False)
