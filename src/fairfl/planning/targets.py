"""Which of the papers' numbers and claims a run would check, before anything has run."""

import hashlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Workload
from fairfl.judgement.cells import Cell, Cells, digits_of
from fairfl.judgement.claims.evaluation import evaluate
from fairfl.judgement.claims.judging import comparable, parsed, setting_of, settings_of
from fairfl.judgement.comparison import comparison_lines
from fairfl.judgement.measurements import measurements, readings_and_own
from fairfl.metrics.origin import origin

Place = tuple[str, Variant]  # setting, variant


@dataclass(frozen=True)
class Numbers:
    """Numbers that a run would check: each that counts (fairfl.judgement.measurements) once, wherever it is printed."""

    of_runs: Counter[Place]  # those that runs of a variant measure
    of_jobs: Counter[
        tuple[str, str]
    ]  # those of a setting that another job counts or chooses; '': that it says itself
    unselected: Counter[str]  # those that no run of this configuration measures

    @property
    def published(self) -> int:
        """All of them."""
        return sum(part.total() for part in (self.of_runs, self.of_jobs, self.unselected))


def numbers(workload: Workload, root: Path) -> Numbers:
    """Numbers of the selected artifacts, as if nothing had run yet."""
    found = Numbers(Counter(), Counter(), Counter())
    lines = comparison_lines(workload, root, files={})
    readings, own = readings_and_own(workload.papers)
    for setting, variant, metric, _ in measurements(lines, readings | own):
        if origin(metric) != "tidy":
            seed = workload.settings[setting].seeds[0]
            jobs = {
                "statistics": f"partition/{setting}/seed{seed}",
                "tuned": f"tune/{setting}/{variant.algorithm}",
            }
            found.of_jobs[setting, jobs.get(origin(metric), "")] += 1
        elif (running := _running(workload, setting, variant)) is not None:
            found.of_runs[setting, running] += 1
        else:
            found.unselected[setting] += 1
    return found


def _running(workload: Workload, setting: str, variant: Variant) -> Variant | None:
    """The variant that runs for a reported one; None if none does."""
    tuned = workload.takes_choice(setting, variant.algorithm)
    known = workload.variants.get(setting, {})
    return known.get(Variant(variant.algorithm, dict(variant.values), tuned))


@dataclass(frozen=True)
class _Ran(Cells):
    """A number, any, for whatever some variants would have measured."""

    ran: Collection[Place] = field(default_factory=frozenset)

    def find(self, setting: str, variant: Variant, metric: str) -> Cell | None:
        measured = origin(metric) in ("statistics", "setting")
        if not measured and not (origin(metric) == "tidy" and (setting, variant) in self.ran):
            return None
        # Different ones, so that nothing is divided by 0.
        digest = hashlib.sha256(f"{setting} {variant} {metric}".encode()).digest()
        return Cell(1 + int.from_bytes(digest[:4], "big") / 2**32)


def checkable_claims(workload: Workload) -> Counter[str]:
    """Claims that could be checked if one seed of every variant had run, by each setting they speak of;
    under "" those of papers and under "own" those of experiments of one's own, each once."""
    cells = _Ran(
        ran={
            (setting, variant.untuned)
            for setting, variants in workload.variants.items()
            for variant in variants
        }
    )
    found: Counter[str] = Counter()
    for name, (paper, _, artifact) in workload.artifacts.items():
        if artifact.drawing or not artifact.in_paper:  # of no run, or of no headline
            continue
        for claim, statement in parsed(workload, name):
            setting = setting_of(claim, name, artifact)
            settings = settings_of(statement, setting)
            digits = digits_of(workload.papers[paper].metrics)
            checked = evaluate(statement, cells, setting=setting, rows=artifact.rows, digits=digits)
            if checked.status != "missing numbers" and comparable(workload, settings):
                found.update(["own" if workload.papers[paper].sources == "own" else "", *settings])
    return found
