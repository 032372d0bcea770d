"""The runs with the most checked numbers per hour, as many as a budget of hours has room for.

Runs are taken one after the other, always the one that decides most per hour of what is not computed
yet: itself, local optima and surrogates that its losses are compared with, a run that must come first, the baseline
that its clients are compared with. First one seed of each variant, its first one. Then, of those whose verdicts hang on
noise, a second seed of each, and so on. What has finished or is stored costs nothing and decides nothing new.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from fairfl.experiments.config import Config
from fairfl.experiments.variant import Run, Variant
from fairfl.judgement.measurements import INCONCLUSIVE
from fairfl.judgement.recorded import COMPARISON, recorded_numbers
from fairfl.judgement.rows import ComparisonLine, records
from fairfl.planning import downloads, targets
from fairfl.planning.estimate import RULES as LONG
from fairfl.planning.estimate import Estimate, estimate_rule
from fairfl.recorded.record import SCALE
from fairfl.runtime import cli
from fairfl.workflow import snakemake
from fairfl.workflow.environment import gpus_per_job
from fairfl.workflow.graph import Graph, Job
from fairfl.workflow.recorded import RULES
from fairfl.workflow.rerun import rerun_of
from fairfl.workflow.terminal.names import counted

_OBSTACLES = {
    "download": "whose data must be downloaded first ({data}; budget_downloads: true takes them)",
    "unavailable": "whose data are neither here nor to be downloaded ({data})",
    "unknown": "whose hours are unknown ({data})",
}


@dataclass(frozen=True)
class Purchase:
    """A training job with the jobs that it and its losses need, itself among them."""

    name: str
    jobs: frozenset[str]  # that nobody has computed, nor an earlier purchase paid
    # Numbers that the run checks; once bought, with the other runs among the jobs.
    new_verdicts: int
    hours: float = 0.0

    @property
    def rank(self) -> tuple[float, float, str]:
        """The least one is taken first."""
        return -self.new_verdicts / max(self.hours, 1e-12), self.hours, self.name


def buy(
    candidates: Iterable[Purchase],
    hours: Callable[[str], float],
    budget: float,
    paid: Iterable[str] = (),
) -> list[Purchase]:
    """The most telling per hour first, as long as they fit into what is left; ties by cost, then by name.

    `hours` of each job; `paid` ones cost nothing. Candidates that tell nothing are not taken.
    """
    offers = {one.name: one for one in candidates}
    verdicts = {name: one.new_verdicts for name, one in offers.items()}
    done, bought = set(paid), list[Purchase]()

    def price(one: Purchase) -> Purchase:
        jobs = one.jobs - done
        checked = sum(verdicts.get(job, 0) for job in jobs)
        return Purchase(one.name, jobs, checked, math.fsum(map(hours, jobs)))

    offers = {name: price(one) for name, one in offers.items() if name not in done}
    while True:
        left = budget - count_hours(bought)
        fitting = [one for one in offers.values() if one.new_verdicts and one.hours <= left]
        if not fitting:
            return bought
        bought.append(min(fitting, key=attrgetter("rank")))
        done |= bought[-1].jobs
        offers = {
            name: one if done.isdisjoint(one.jobs) else price(one)
            for name, one in offers.items()
            if name not in done
        }


def count_hours(bought: Iterable[Purchase]) -> float:
    return math.fsum(one.hours for one in bought)


def count_runs(bought: Iterable[Purchase]) -> int:
    return sum(job.startswith("train/") for one in bought for job in one.jobs)


class Planner:
    """Runs that are done, and what each missing one needs and checks, of one graph."""

    def __init__(self, graph: Graph, root: Path) -> None:
        self.graph, self.root, self.workload = graph, root, graph.workload
        self.rerun = rerun_of(graph)
        self.results = Path("results", self.workload.scale.scale)
        self.is_on_gpu = gpus_per_job(self.workload.config) > 0  # what a budget is of
        self.unit = "GPU-hours" if self.is_on_gpu else "core-hours"
        self.numbers = targets.count_numbers(self.workload, root)
        self.missing = cache(self._missing)
        self._estimate = cache(partial(estimate_rule, self.workload, self.results))
        self._find_source = cache(partial(downloads.source, self.workload))
        self._obstacles: dict[tuple[str, Variant], str] = {}

    def estimate(self, name: str) -> Estimate | None:
        """Estimate of a long job: the same for all seeds, clients and clusters."""
        return self._estimate(*name.split("/")[: 4 if name.startswith("train/") else 2])

    def hours(self, name: str) -> float:
        """Hours of a core, or of a GPU where jobs run on one; 0 where it is unknown."""
        cost = self.estimate(name)
        seconds = 0.0 if cost is None else cost.gpu_seconds if self.is_on_gpu else cost.core_seconds
        return seconds / 3600

    # -- what a run needs -------------------------------------------------------------------------
    def _missing(self, run: Run) -> list[Job]:
        """All jobs that must run before the run's numbers can be checked, itself among them; none if it is done."""
        name, baseline = f"train/{run.id}", self.workload.baseline(run.setting)
        if self.rerun.is_done(name):
            return []
        kinds = tuple(
            f"{rule}/{run.setting}/seed{run.seed}/"
            for rule in ("local_optimum", "surrogate")  # that its losses are compared with
        )
        inputs = self.graph.job(f"collect/{run.setting}").inputs
        names = [name, *(one for one in inputs if one.startswith(kinds))]
        if baseline is not None:
            names.append(f"train/{Run(run.setting, baseline, run.seed).id}")
        return self._unfinished(names)

    def _unfinished(self, names: list[str]) -> list[Job]:
        """Jobs that must run, of these and all that they need."""
        below = self.graph.below(names, self.rerun.stored)
        return [job for job in below if not self.rerun.is_done(job.name)]

    def long_jobs(self, run: Run) -> frozenset[str]:
        """Names of the missing jobs that take long."""
        return frozenset(job.name for job in self.missing(run) if job.rule in LONG)

    def source(self, jobs: Iterable[Job]) -> downloads.Source:
        """Origin of the raw files that some jobs fetch."""
        keys = [job.name.removeprefix("fetch/") for job in jobs if job.rule == "fetch"]
        return downloads.farthest(map(self._find_source, keys))

    def obstacle(self, run: Run) -> str | None:
        """Reason why a run cannot be computed here as it is, one of `_OBSTACLES`; None if it can."""
        source = self.source(self.missing(run))
        if source == "unavailable" or (
            source == "download" and not self.workload.config.budget_downloads
        ):
            return source
        return "unknown" if None in map(self.estimate, self.long_jobs(run)) else None

    def left_out(self) -> str:
        """Runs that `select` did not take because they cannot run here, in words; '' if there is nothing."""
        parts = []
        for kind, why in _OBSTACLES.items():
            settings = [setting for (setting, _), one in self._obstacles.items() if one == kind]
            names = dict.fromkeys(self.workload.settings[name].data.name for name in settings)
            if settings:
                parts.append(f"{len(settings)} {why.format(data=', '.join(names))}")
        return f"left out, one seed each: {'; '.join(parts)}" if parts else ""

    # -- what is worth it -------------------------------------------------------------------------
    @cached_property
    def _runs(self) -> dict[tuple[str, Variant], tuple[int, list[Run]]]:
        """(setting, variant) -> how many of its runs are done, and the others."""
        states = {}
        for place, group in groupby(self.workload.runs, attrgetter("setting", "variant")):
            runs = list(group)
            left = [run for run in runs if not self.rerun.is_done(f"train/{run.id}")]
            states[place] = len(runs) - len(left), left
        return states

    def _candidates(self, seeds: int, open_verdicts: Counter[targets.Place]) -> Iterable[Purchase]:
        """The next run of each variant with this number of seeds, if it decides anything."""
        for (setting, variant), (done, waiting) in self._runs.items():
            verdicts = (open_verdicts if seeds else self.numbers)[setting, variant.untuned]
            if done != seeds or not waiting or not verdicts:
                continue
            run = waiting[0]
            if (obstacle := self.obstacle(run)) is None:
                yield Purchase(f"train/{run.id}", self.long_jobs(run), verdicts)
            elif not seeds:
                self._obstacles[setting, variant] = obstacle

    @cached_property
    def claims(self) -> Counter[str]:
        """Claims that the runs check, by setting; see `checkable_claims`."""
        return targets.checkable_claims(self.workload)

    @cached_property
    def compared(self) -> list[ComparisonLine]:
        """The rows of comparison.csv of the last run of this selection, else of all, else the stored ones."""
        config = self.workload.config
        for path in self.graph.job("comparison").outputs[0], self.results / "comparison.csv":
            if Path(path).is_file():
                return records(Path(path), "comparison", ComparisonLine)
        stored = config.scale == SCALE and config.recorded != "ignore"
        return recorded_numbers(self.root) if stored and (self.root / COMPARISON).exists() else []

    def select(self, budget: float) -> list[Purchase]:
        """Purchases of a budget, stage by stage."""
        open_verdicts: Counter[targets.Place] = Counter(
            (line.setting, line.variant)
            for line in self.compared
            if may_change_with_more_seeds(line)
        )
        bought: list[Purchase] = []
        most = max((len(setting.seeds) for setting in self.workload.settings.values()), default=0)
        for seeds in range(most):
            bought += buy(
                self._candidates(seeds, open_verdicts),
                self.hours,
                budget - count_hours(bought),
                # Baselines and runs that come first may be worth something themselves.
                [job for one in bought for job in one.jobs],
            )
        return bought

    def available(self, bought: Iterable[Purchase]) -> frozenset[str]:
        """Names of the available jobs that take long or need data: done, or bought."""
        chosen = sorted(job for one in bought for job in one.jobs)
        below = {job.name for job in self.graph.below(chosen, self.rerun.stored)}
        here = {
            job.name
            for job in self.rerun.needed(self.graph.everything())
            if self.rerun.is_done(job.name)
            or (job.rule == "partition" and self.source(self._unfinished([job.name])) == "local")
        }
        return frozenset(name for name in below | here if name.partition("/")[0] in RULES)


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


def describe_purchases(planner: Planner, bought: list[Purchase], budget: float) -> str:
    """Sentence on what a budget buys."""
    text = (
        f"budget of {budget:g} {planner.unit}: {counted('train', count_runs(bought))} in about "
        f"{count_hours(bought):.3g}, which check {sum(one.new_verdicts for one in bought)} numbers"
    )
    return "; ".join(filter(None, (text, planner.left_out())))


def planner_of(argv: list[str] | None, about: str | None) -> tuple[Planner, Config]:
    """Planner of all runs, and the configuration, with its budget, that a command was called with."""
    root, config, asked = snakemake.called_with(argv, about)
    graph = snakemake.parsed(root, config | {"budget": None})["graph"]
    return Planner(graph, root), asked


def main(argv: list[str] | None = None) -> None:
    """Print, as JSON, the jobs that a budget leaves (fairfl.planning.restriction asks)."""
    planner, asked = planner_of(argv, __doc__)
    budget = asked.budget or 0.0
    bought = planner.select(budget)
    print(describe_purchases(planner, bought, budget), file=sys.stderr)
    print(json.dumps(sorted(planner.available(bought))))


if __name__ == "__main__":
    cli.run(main, teardown=False)
