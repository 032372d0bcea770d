"""Which of the papers' numbers and claims a run would check, before anything has run."""

import zlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from fairfl.experiments.origin import origin
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Workload
from fairfl.judgement.cells import Cell, Cells, digits_of
from fairfl.judgement.claims.evaluation import evaluate
from fairfl.judgement.claims.judging import comparable, parsed, setting_of, settings_of
from fairfl.judgement.comparison import comparison_lines
from fairfl.judgement.measurements import measurements, readings_and_own

# A setting, and what measures its numbers: the runs of a variant, tuned or not; a job by name; "" if the setting itself
# states them; None if nothing of this configuration does.
Place = tuple[str, Variant | str | None]


def count_numbers(workload: Workload, root: Path) -> Counter[Place]:
    """Numbers of the selected artifacts that each run or job would check, as if nothing had run yet: each that counts
    (fairfl.judgement.measurements) once, wherever it is printed."""
    lines = comparison_lines(workload, root, files={})
    readings, own = readings_and_own(workload.papers)
    return Counter(
        (setting, _measured_by(workload, setting, variant, metric))
        for setting, variant, metric, _ in measurements(lines, readings | own)
    )


def _measured_by(
    workload: Workload, setting: str, variant: Variant, metric: str
) -> Variant | str | None:
    match origin(metric):
        case "tidy":
            tuned = workload.takes_choice(setting, variant.algorithm)
            runs = Variant(variant.algorithm, dict(variant.values), tuned)
            return variant.untuned if runs in workload.variants.get(setting, {}) else None
        case "statistics":
            return f"partition/{setting}/seed{workload.settings[setting].seeds[0]}"
        case "tuned":
            return f"tune/{setting}/{variant.algorithm}"
    return ""


@dataclass(frozen=True)
class _Ran(Cells):
    """A number, any, for whatever some variants would have measured."""

    ran: Collection[tuple[str, Variant]] = frozenset()

    def find(self, setting: str, variant: Variant, metric: str) -> Cell | None:
        of_run = origin(metric) == "tidy" and (setting, variant) in self.ran
        if not of_run and origin(metric) not in ("statistics", "setting"):
            return None
        # Different ones, so that nothing is divided by 0.
        return Cell(1 + zlib.crc32(f"{setting} {variant} {metric}".encode()) / 2**32)


def checkable_claims(workload: Workload) -> Counter[str]:
    """Claims that could be checked if one seed of every variant had run, by each setting they speak of;
    under "" claims of papers and under "own" of your experiments, each once."""
    cells = _Ran(
        ran={
            (setting, variant.untuned)
            for setting, variants in workload.variants.items()
            for variant in variants
        }
    )
    claims: Counter[str] = Counter()
    for name, (paper, _, artifact) in workload.artifacts.items():
        if artifact.drawing or not artifact.in_paper:  # of no run, or of no headline
            continue
        for claim, statement in parsed(workload, name):
            setting = setting_of(claim, name, artifact)
            settings = settings_of(statement, setting)
            digits = digits_of(workload.papers[paper].metrics)
            checked = evaluate(statement, cells, setting=setting, rows=artifact.rows, digits=digits)
            if checked.status != "missing numbers" and comparable(workload, settings):
                claims.update(["own" if workload.papers[paper].sources == "own" else "", *settings])
    return claims
