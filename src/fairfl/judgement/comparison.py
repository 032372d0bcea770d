"""Every number of every table and figure beside the paper's, with a verdict (fairfl.judgement.agreement).

Two numbers are only checked if nothing but the seeds differs between the paper's setting and the one that ran. A run
that diverged agrees with a paper that says so, and with nothing else; a target that was never reached (infinitely many
rounds) likewise. Seconds are never checked: they tell of the machine.

A number that could not tell whatever it is, as its tolerance is too wide or a mere lower bound, is `inconclusive`.

Numbers that something was chosen by are `fitted` and prove nothing: FedAvg's own targets under `calibrated` facts, and
the rows that a setting names in `fitted`. The other rows are checked as ever.

How each number is known stands beside it: `provenance` and `note` of its row, `reported_note` of the paper's number,
and in `contradiction` what speaks against that in the paper itself.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fairfl.experiments.paper import Artifact
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Workload
from fairfl.judgement.agreement import (
    UNKNOWN,
    Noise,
    agreement_tolerance,
    closeness_tolerance,
    noise_of,
    too_wide,
    with_evaluations,
    with_printed,
)
from fairfl.judgement.cells import (
    MEASURED_KINDS,
    NO_VARIANT,
    Cell,
    Cells,
    Key,
    Metrics,
    by_seed_text,
    digits_of,
    expanded,
    key_of,
    metric_of,
)
from fairfl.judgement.changes import changed_by_scale, changed_keys, original
from fairfl.judgement.claims.contradictions import Contradictions, contradictions
from fairfl.judgement.results import results_of
from fairfl.judgement.rows import ComparisonLine, Verdict
from fairfl.judgement.sources import Known, known
from fairfl.judgement.units import half_unit
from fairfl.metrics.origin import origin
from fairfl.runtime.errors import FairflError

# Verdict -> (style, mark, short label). The words stand beside the colour, never the colour alone.
VERDICTS: dict[str, tuple[str, str, str]] = {
    "agrees": ("good", "✓", "agrees"),
    "close": ("near", "≈", "close"),
    "differs": ("bad", "✗", "differs"),
    "inconclusive": ("open", "?", "inconclusive"),
    "fitted": ("apart", "=", "used to choose a value, not counted"),
    "not comparable: scale": ("apart", "≠", "other scale"),
    "not comparable: stand-in": ("apart", "≠", "stand-in data"),
    "not comparable: stand-in and scale": ("apart", "≠", "stand-in, other scale"),
    "not comparable: hardware": ("apart", "≠", "other hardware"),
    "not reported": ("none", "–", "not reported"),
    "not run": ("none", "○", "not run"),
    "diverged": ("bad", "!", "diverged"),
}

# Notes on numbers of a setting whose unstated facts were calibrated.
FITTED = "fitted: "
BY_TARGET = FITTED + "the setting's unstated facts were chosen by this number"
UNSEEN = "not fitted: the setting's unstated facts were chosen by FedAvg's targets alone"


def reason_not_comparable(workload: Workload, setting: str, metric: str) -> Verdict | None:
    """Why a number of this setting cannot be compared with the paper's; None if it can.

    A stand-in is another data set, named by a scale. A lossy copy or a part of the paper's own data set is none: it is
    checked, and its source stands under every artifact.
    """
    if origin(metric) == "timed":
        return "not comparable: hardware"
    stands_in = workload.settings[setting].data.stands_in_for is not None
    rest = changed_keys(changed_by_scale(workload, setting)) - ({"data"} if stands_in else set())
    if stands_in:
        return "not comparable: stand-in and scale" if rest else "not comparable: stand-in"
    return "not comparable: scale" if rest else None


def chosen_by(workload: Workload, setting: str, variant: Variant) -> str:
    """What was chosen by the numbers of a row, or of its algorithm; '' if nothing was."""
    chose = workload.settings[setting].fitted or {}
    return chose.get(variant.selector) or chose.get(variant.algorithm, "")


def difference(paper: Cell | None, here: Cell | None) -> float | None:
    """Ours minus the paper's; None unless both are finite."""
    if paper is None or here is None or paper.mean is None or here.mean is None:
        return None
    return (
        here.mean - paper.mean if math.isfinite(paper.mean) and math.isfinite(here.mean) else None
    )


def verdict(
    paper: Cell | None,
    here: Cell | None,
    blocked: Verdict | None,
    apart: float | None,
    tolerances: tuple[float, float],
    wide: bool = False,
    from_below: bool = False,
) -> Verdict:
    """The verdict on one number: `apart` is the difference, `tolerances` are those of `agrees` and `close`.

    `wide`: nearly any number would be within the first tolerance; `from_below`: it is no more than a lower bound.
    """
    if paper is None or (paper.mean is None and not paper.diverged):
        return "not reported"
    if here is None:
        return "not run"
    if here.mean is None and not paper.diverged:
        return "diverged"
    if blocked:
        return blocked
    if paper.diverged:
        return "agrees" if here.mean is None else "differs"
    if apart is None:  # one of them is infinite
        return "agrees" if paper.mean == here.mean else "differs"
    agrees, close = (
        abs(apart) <= tolerance * (1 + 1e-9) for tolerance in tolerances
    )  # the last bits must not decide
    if wide or (from_below and not agrees):
        return "inconclusive"
    return "agrees" if agrees else "close" if close else "differs"


@dataclass(frozen=True)
class _ComparedTable:
    """What one artifact is compared from."""

    workload: Workload
    name: str
    paper: str
    artifact: Artifact
    here: Cells
    reported: Cells
    contradictions: Contradictions
    pooled: Mapping[tuple[str, str], Noise]

    @property
    def metrics(self) -> Metrics:
        return self.workload.papers[self.paper].metrics

    @property
    def level(self) -> float:
        return self.workload.config.verdict.significance_level

    def lines(self) -> Iterator[ComparisonLine]:
        """The artifact's own cells, then reported numbers that it has no cell for."""
        done = set()
        for setting in self.artifact.settings:
            for variant, provenance in self.rows_in(setting):
                for column in self.artifact.columns_for(variant.algorithm, setting):
                    for metric in expanded(column, setting, self.here, self.reported):
                        done.add(key_of(setting, variant, metric))
                        yield self.line(setting, variant, metric, provenance)
        for setting, variant, metric in self.reported.cells:
            if (setting, variant, metric) not in done:
                yield self.line(setting, variant, metric, Known(""))

    def rows_in(self, setting: str) -> list[tuple[Variant, Known]]:
        """The variants of the setting's rows, and how they are known; none where numbers belong to no algorithm."""
        if not self.artifact.rows and self.artifact.of_settings:
            return [(NO_VARIANT, Known(""))]
        return [(row.variant, known(row)) for row in self.artifact.rows_in(setting)]

    def line(
        self, setting: str, variant: Variant, metric: str, provenance: Known
    ) -> ComparisonLine:
        number = _Number(self, setting, variant, metric)
        paper, here = number.paper or Cell(None), number.here or Cell(None)
        word, tolerance, noise = number.judged()
        notes = (provenance.note, _note(number.here, metric, str(variant)), number.fit)
        return ComparisonLine(
            artifact=self.name,
            setting=setting,
            algorithm=variant.algorithm,
            hyperparameters=variant.csv,
            metric=metric,
            unit=number.unit,
            reported=paper.mean,
            reported_spread=paper.std,
            ours=here.mean,
            ours_std=here.std,
            ours_by_seed=by_seed_text(here.by_seed),
            seeds=here.seeds,
            reported_seeds=0 if paper.mean is None else number.seeds,
            difference=number.difference,
            seed_std=None if math.isnan(noise.std) else noise.std,
            tolerance=tolerance,
            tolerance_source=noise.source,
            verdict=word,
            provenance=", ".join(provenance.words),
            note="; ".join(filter(None, notes)),
            reported_note=paper.note,
            contradiction="; ".join(self.contradictions.get((self.name, number.key), ())),
            data=self.workload.settings[setting].data.label,
            changed_by_scale="; ".join(changed_by_scale(self.workload, setting)),
            runs=";".join(here.runs),
            fingerprints=";".join(here.fingerprints),
        )

    @cached_property
    def columns(self) -> dict[tuple[str, str], list[float | None]]:
        """(setting, metric) -> what the paper prints there, variant by variant."""
        found: dict[tuple[str, str], list[float | None]] = {}
        for (setting, variant, metric), cell in self.reported.cells.items():
            if variant.algorithm:
                found.setdefault((setting, metric), []).append(cell.mean)
        return found

    def fit(self, setting: str, variant: Variant, metric: str) -> str:
        """What was chosen by this number, or that calibrated facts were not; empty where nothing was chosen."""
        if what := chosen_by(self.workload, setting, variant):
            return f"{FITTED}this row chose {what}"
        unstated = self.workload.settings[setting].unstated
        if unstated is None or not unstated.fitted or not variant.algorithm:
            return ""
        return (
            BY_TARGET if variant == Variant("fedavg", {}) and metric in unstated.targets else UNSEEN
        )


@dataclass(frozen=True)
class _Number:
    """One number of a table, ours and the paper's, and what its verdict rests on."""

    table: _ComparedTable
    setting: str
    variant: Variant
    metric: str

    @property
    def key(self) -> Key:
        return key_of(self.setting, self.variant, self.metric)

    @cached_property
    def paper(self) -> Cell | None:
        return self.table.reported.find(self.setting, self.variant, self.metric)

    @cached_property
    def here(self) -> Cell | None:
        return self.table.here.find(self.setting, self.variant, self.metric)

    @cached_property
    def unit(self) -> str:
        """Raises FairflError if ours and the paper's differ."""
        units = [cell.unit for cell in (self.here, self.paper) if cell]
        if len(set(units)) > 1:
            raise FairflError(
                f"{self.table.name}: {self.metric} in {self.setting}: measured in {units[0]!r}, "
                f"reported in {units[1]!r}"
            )
        described = metric_of(self.table.metrics, self.metric)
        return units[0] if units else described.unit if described else ""

    @cached_property
    def difference(self) -> float | None:
        return difference(self.paper, self.here)

    @cached_property
    def seeds(self) -> int:
        """Seeds behind the paper's number."""
        return len(original(self.table.workload, self.setting).seeds)

    @cached_property
    def fit(self) -> str:
        return self.table.fit(self.setting, self.variant, self.metric)

    def judged(self) -> tuple[Verdict, float, Noise]:
        """The verdict, the tolerance of `agrees` and the noise that gives it."""
        table, printed = self.table, self.paper.mean if self.paper else None
        own = noise_of(self.key, self.here, table.pooled)
        known = with_printed(own, self.paper, self.seeds, table.level)
        noise = with_evaluations(known, self.key, table.here, table.level)
        # The paper's number has a noise, and nothing is known of it.
        unrepeated = noise is UNKNOWN and self.seeds > 1
        tolerances = self._tolerances(noise)
        column = table.columns.get((self.setting, self.metric), ())
        wide = noise.half_width(table.level) > 0 and too_wide(tolerances[0], printed, column)
        blocked = reason_not_comparable(table.workload, self.setting, self.metric)
        from_below = noise.from_below or unrepeated
        found = verdict(
            self.paper, self.here, blocked, self.difference, tolerances, wide, from_below
        )
        tried = ("agrees", "close", "differs", "inconclusive")
        fitted = self.fit.startswith(FITTED) and found in tried
        return "fitted" if fitted else found, tolerances[0], noise

    def _tolerances(self, noise: Noise) -> tuple[float, float]:
        """The largest differences that agree and that are close."""
        if self.paper is None or self.paper.mean is None:
            return 0.0, 0.0
        ours = self.here.seeds if self.here else 0
        rounding = half_unit(self.paper.mean, self.unit, digits_of(self.table.metrics)(self.metric))
        agrees = agreement_tolerance(noise, ours or 1, self.seeds, rounding, self.table.level)
        config = self.table.workload.config.verdict
        return agrees, closeness_tolerance(self.paper.mean, self.unit, config)


# Why there is no number of ours, by where it would come from.
_ABSENT = {
    "tidy": "no run of {row} measured this",
    "tuned": "nothing was tuned for {row}",
    "statistics": "no partition was counted",
    "timed": "nothing was timed",
    "setting": "the setting does not say",
}
_DIVERGED = {
    "tidy": "{diverged} of {seeds} seeds diverged",
    "tuned": "every point of the grid diverged",
    "statistics": "not defined for this partition",
}


def _note(here: Cell | None, metric: str, row: str) -> str:
    """How our number came about, or why there is none."""
    parts = [here.note] if here and here.note else []
    if here is None:
        parts.append(_ABSENT[origin(metric)].format(row=row))
    elif here.diverged:
        parts.append(_DIVERGED[origin(metric)].format(diverged=here.diverged, seeds=here.seeds))
    elif here.censored:
        parts.append(f"not reached by {here.censored} of {here.seeds} seeds")
    return "; ".join(parts)


def comparison_lines(
    workload: Workload, root: Path, files: Mapping[str, Mapping[str, str]]
) -> list[ComparisonLine]:
    """All rows in catalogue order: artifact, setting, row, column, then the reported numbers left over.

    `files` are our own numbers, see fairfl.judgement.results.
    """
    numbers = results_of(workload, root, files)
    doubts = contradictions(workload.papers, numbers.reported)
    lines: list[ComparisonLine] = []
    for name, (paper, _, artifact) in workload.artifacts.items():
        if artifact.kind in MEASURED_KINDS and artifact.columns:
            reported = numbers.reported.get(name, Cells())
            table = _ComparedTable(
                workload, name, paper, artifact, numbers.ours, reported, doubts, numbers.noise
            )
            lines += table.lines()
    return lines
