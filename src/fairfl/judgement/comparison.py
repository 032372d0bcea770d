"""Every number of every table and figure with the published one and a verdict (fairfl.judgement.agreement).

Two numbers are only checked if nothing but the seeds differs between the paper's setting and the one that ran. A run
that diverged agrees with a paper that says so, and with nothing else; a target that was never reached (infinitely many
rounds) likewise. Seconds are never checked: they tell of the machine.

A number that could not tell whatever it is, as its tolerance is too wide or a mere lower bound, is `inconclusive`.

Numbers that something was chosen by are `fitted` and prove nothing: FedAvg's own targets under `calibrated` facts, the
rows that a setting names in `fitted`, and what a setting states as the paper prints it. The other rows are checked as
ever.

How each number is known is next to it: `provenance` and `note` of its row, `reported_note` of the paper's number,
and in `contradiction` what speaks against that in the paper itself.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fairfl.experiments.artifact import Artifact
from fairfl.experiments.origin import COPIED, origin
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Workload
from fairfl.judgement.agreement import (
    UNKNOWN,
    agreement_tolerance,
    closeness_tolerance,
    find_noise,
    is_uninformative,
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
from fairfl.judgement.results import Results, results_of
from fairfl.judgement.rows import ComparisonLine, Verdict
from fairfl.judgement.sources import RowProvenance, provenance_of
from fairfl.judgement.units import half_unit, known_or_none
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
    """Reason why a number of this setting cannot be compared with the paper's; None if it can.

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
    """Choice that was made by the numbers of a row, or of its algorithm; '' if nothing was."""
    chose = workload.settings[setting].fitted or {}
    return chose.get(variant.selector) or chose.get(variant.algorithm, "")


def difference(paper: Cell | None, here: Cell | None) -> float | None:
    """Ours minus the paper's; None unless both are finite."""
    if paper is None or here is None or paper.mean is None or here.mean is None:
        return None
    apart = here.mean - paper.mean
    return apart if math.isfinite(apart) else None


def verdict(
    paper: Cell | None,
    here: Cell | None,
    blocked: Verdict | None,
    apart: float | None,
    tolerances: tuple[float, float],
    is_wide: bool = False,
    is_lower_bound: bool = False,
) -> Verdict:
    """The verdict on one number: `apart` is the difference, `tolerances` are those of `agrees` and `close`.

    `is_wide`: nearly any number would be within the first tolerance; `is_lower_bound`: it is not more than that.
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
    if is_wide or (is_lower_bound and not agrees):
        return "inconclusive"
    return "agrees" if agrees else "close" if close else "differs"


@dataclass(frozen=True)
class _ComparedTable:
    """The artifact `name`, and the numbers that it is compared from."""

    workload: Workload
    name: str
    numbers: Results
    contradictions: Contradictions

    @property
    def artifact(self) -> Artifact:
        return self.workload.artifacts[self.name][2]

    @property
    def metrics(self) -> Metrics:
        return self.workload.papers[self.workload.artifacts[self.name][0]].metrics

    @property
    def reported(self) -> Cells:
        return self.numbers.reported.get(self.name, Cells())

    def lines(self) -> Iterator[ComparisonLine]:
        """The artifact's own cells, then reported numbers that it has no cell for."""
        done = set()
        for setting in self.artifact.settings:
            for variant, provenance in self.rows_in(setting):
                for column in self.artifact.columns_for(variant.algorithm, setting):
                    for metric in expanded(column, setting, self.numbers.ours, self.reported):
                        done.add(key_of(setting, variant, metric))
                        yield self.line(setting, variant, metric, provenance)
        for setting, variant, metric in self.reported.cells:
            if (setting, variant, metric) not in done:
                yield self.line(setting, variant, metric, RowProvenance(""))

    def rows_in(self, setting: str) -> list[tuple[Variant, RowProvenance]]:
        """The variants of the setting's rows, and how they are known; none where numbers belong to no algorithm."""
        if not self.artifact.rows and self.artifact.of_settings:
            return [(NO_VARIANT, RowProvenance(""))]
        return [(row.variant, provenance_of(row)) for row in self.artifact.rows_in(setting)]

    def line(
        self, setting: str, variant: Variant, metric: str, provenance: RowProvenance
    ) -> ComparisonLine:
        """One number: cells, what seeds make of it, the differences that agree or are close, the verdict."""
        workload, key = self.workload, key_of(setting, variant, metric)
        config, seeds = workload.config.verdict, len(original(workload, setting).seeds)
        paper, here = self.reported.find(*key), self.numbers.ours.find(*key)
        theirs, ours = paper or Cell(None), here or Cell(None)
        unit, apart = self.unit(key, here, paper), difference(paper, here)
        level = config.significance_level
        noise = find_noise(key, self.numbers.ours, self.numbers.noise, paper, seeds, level)
        tolerances = (0.0, 0.0)
        if theirs.mean is not None:
            digits = digits_of(self.metrics)(metric)
            rounding = half_unit(theirs.mean, unit, digits)
            tolerances = (
                agreement_tolerance(noise, ours.seeds or 1, seeds, rounding, level),
                closeness_tolerance(theirs.mean, unit, config),
            )
        is_wide = noise.half_width(level) > 0 and is_uninformative(
            tolerances[0], theirs.mean, self.columns.get((setting, metric), ())
        )
        # The paper's number has a noise, and nothing is known of it.
        is_lower_bound = noise.is_lower_bound or (noise is UNKNOWN and seeds > 1)
        blocked = reason_not_comparable(workload, setting, metric)
        word = verdict(paper, here, blocked, apart, tolerances, is_wide, is_lower_bound)
        fit = self.fit(setting, variant, metric)
        judged = ("agrees", "close", "differs", "inconclusive")
        chosen = word in judged and fit.startswith(FITTED)
        if chosen or (word == "agrees" and metric in COPIED):
            word = "fitted"
        notes = (provenance.note, _note(here, metric, str(variant)), fit)
        return ComparisonLine(
            artifact=self.name,
            setting=setting,
            algorithm=variant.algorithm,
            hyperparameters=variant.csv,
            metric=metric,
            unit=unit,
            reported=theirs.mean,
            reported_spread=theirs.std,
            ours=ours.mean,
            ours_std=ours.std,
            ours_by_seed=by_seed_text(ours.by_seed),
            seeds=ours.seeds,
            reported_seeds=0 if theirs.mean is None else seeds,
            difference=apart,
            seed_std=known_or_none(noise.std),
            tolerance=tolerances[0],
            tolerance_source=noise.source,
            verdict=word,
            provenance=", ".join(provenance.words),
            note="; ".join(filter(None, notes)),
            reported_note=theirs.note,
            contradiction="; ".join(self.contradictions.get((self.name, key), ())),
            data=workload.settings[setting].data.label,
            changed_by_scale="; ".join(changed_by_scale(workload, setting)),
            runs=";".join(ours.runs),
            fingerprints=";".join(ours.fingerprints),
        )

    def unit(self, key: Key, *cells: Cell | None) -> str:
        """The unit of a number. Raises FairflError if ours and the paper's differ."""
        setting, _, metric = key
        units = [cell.unit for cell in cells if cell]
        if len(set(units)) > 1:
            raise FairflError(
                f"{self.name}: {metric} in {setting}: measured in {units[0]!r}, reported in {units[1]!r}"
            )
        described = metric_of(self.metrics, metric)
        return units[0] if units else described.unit if described else ""

    @cached_property
    def columns(self) -> dict[tuple[str, str], list[float | None]]:
        """(setting, metric) -> what the paper prints there, variant by variant."""
        columns: dict[tuple[str, str], list[float | None]] = {}
        for (setting, variant, metric), cell in self.reported.cells.items():
            if variant.algorithm:
                columns.setdefault((setting, metric), []).append(cell.mean)
        return columns

    def fit(self, setting: str, variant: Variant, metric: str) -> str:
        """Choice that was made by this number, or that calibrated facts were not; empty where nothing was chosen."""
        if what := chosen_by(self.workload, setting, variant):
            return f"{FITTED}this row chose {what}"
        unstated = self.workload.settings[setting].unstated
        if unstated is None or not unstated.fitted or not variant.algorithm:
            return ""
        return (
            BY_TARGET if variant == Variant("fedavg", {}) and metric in unstated.targets else UNSEEN
        )


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
    """Note on how our number came about, or why it is missing."""
    if here is None:
        return _ABSENT[origin(metric)].format(row=row)
    why = ""
    if here.diverged:
        why = _DIVERGED[origin(metric)].format(diverged=here.diverged, seeds=here.seeds)
    elif here.censored:
        why = f"not reached by {here.censored} of {here.seeds} seeds"
    return "; ".join(filter(None, (here.note, why)))


def comparison_lines(
    workload: Workload, root: Path, files: Mapping[str, Mapping[str, str]]
) -> list[ComparisonLine]:
    """All rows in catalogue order: artifact, setting, row, column, then the reported numbers left over.

    `files` are our own numbers, see fairfl.judgement.results.
    """
    numbers = results_of(workload, root, files)
    doubts = contradictions(workload.papers, numbers.reported)
    return [
        line
        for name, (_, _, artifact) in workload.artifacts.items()
        if artifact.kind in MEASURED_KINDS and artifact.columns
        for line in _ComparedTable(workload, name, numbers, doubts).lines()
    ]
