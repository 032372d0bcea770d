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
    as_stated,
    closeness_tolerance,
    noise_of,
    pooled_noise,
    too_wide,
    with_evaluations,
    with_printed,
)
from fairfl.judgement.cells import (
    MEASURED_KINDS,
    NO_VARIANT,
    Cell,
    Cells,
    by_seed_text,
    digits_of,
    expanded,
    key_of,
    metric_of,
)
from fairfl.judgement.changes import changed_by_scale, changed_keys, original
from fairfl.judgement.claims.contradictions import Contradictions, contradictions
from fairfl.judgement.repeats import repeats
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
    """Why a number of this setting cannot be held against the paper's; None if it can.

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
class _Table:
    """What one artifact is compared from."""

    workload: Workload
    name: str
    paper: str
    artifact: Artifact
    here: Cells
    reported: Cells
    contradictions: Contradictions
    pooled: Mapping[tuple[str, str], Noise]

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
        paper = self.reported.find(setting, variant, metric)
        here = self.here.find(setting, variant, metric)
        metrics = self.workload.papers[self.paper].metrics
        described = metric_of(metrics, metric)
        paper_or_none, here_or_none = paper or Cell(None), here or Cell(None)
        units = [cell.unit for cell in (here, paper) if cell] or [
            described.unit if described else ""
        ]
        if len(set(units)) > 1:
            raise FairflError(
                f"{self.name}: {metric} in {setting}: measured in {units[0]!r}, reported in {units[1]!r}"
            )
        distance = difference(paper, here)
        seeds, stated = (
            len(original(self.workload, setting).seeds),
            original(self.workload, setting).stated_seeds,
        )
        key, level = (
            key_of(setting, variant, metric),
            self.workload.config.verdict.significance_level,
        )
        own = noise_of(key, here, self.pooled)
        noise = with_evaluations(with_printed(own, paper, seeds, level), key, self.here, level)
        strictly = with_printed(
            own, as_stated(paper) if stated and paper else paper, stated or seeds, level
        )
        pairs, within = repeats(key, paper, self.here, self.pooled, seeds, level)
        hindrance, fit = (
            reason_not_comparable(self.workload, setting, metric),
            self.fit(setting, variant, metric),
        )

        def checked(noise: Noise, seeds: int, from_below: bool) -> tuple[Verdict, float]:
            """The verdict, and the tolerance of `agrees`."""
            tolerances = self.tolerances(
                paper_or_none, here_or_none, units[0], metric, noise, seeds
            )
            wide = noise.half_width(level) > 0 and too_wide(
                tolerances[0], paper_or_none.mean, self.column(setting, metric)
            )
            found = verdict(paper, here, hindrance, distance, tolerances, wide, from_below)
            tried = ("agrees", "close", "differs", "inconclusive")
            return ("fitted" if fit.startswith(FITTED) and found in tried else found), tolerances[0]

        unrepeated = (
            noise is UNKNOWN and seeds > 1
        )  # the paper's number has a noise, and nothing is known of it
        word, largest = checked(noise, seeds, noise.from_below or unrepeated)
        return ComparisonLine(
            artifact=self.name,
            setting=setting,
            algorithm=variant.algorithm,
            hyperparameters=variant.csv,
            metric=metric,
            unit=units[0],
            reported=paper_or_none.mean,
            reported_spread=paper_or_none.std,
            ours=here_or_none.mean,
            ours_std=here_or_none.std,
            ours_by_seed=by_seed_text(here_or_none.by_seed),
            seeds=here_or_none.seeds,
            reported_seeds=seeds if paper and paper.mean is not None else 0,
            difference=distance,
            seed_std=None if math.isnan(noise.std) else noise.std,
            tolerance=largest,
            tolerance_source=noise.source,
            verdict=word,
            verdict_strict=checked(strictly, stated or seeds, False)[0],
            seed_pairs=pairs,
            seed_pairs_within=within,
            provenance=", ".join(provenance.words),
            note="; ".join(filter(None, (provenance.note, _note(here, metric, str(variant)), fit))),
            reported_note=paper_or_none.note,
            contradiction="; ".join(
                self.contradictions.get((self.name, key_of(setting, variant, metric)), ())
            ),
            data=self.workload.settings[setting].data.label,
            changed_by_scale="; ".join(changed_by_scale(self.workload, setting)),
            runs=";".join(here_or_none.runs),
            fingerprints=";".join(here_or_none.fingerprints),
        )

    def column(self, setting: str, metric: str) -> list[float | None]:
        """What the paper prints for the variants of a metric's column."""
        return self.columns.get((setting, metric), [])

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
        if what := (self.workload.settings[setting].fitted or {}).get(variant.selector):
            return f"{FITTED}this row chose {what}"
        unstated = self.workload.settings[setting].unstated
        if unstated is None or not unstated.fitted or not variant.algorithm:
            return ""
        return (
            BY_TARGET if variant == Variant("fedavg", {}) and metric in unstated.targets else UNSEEN
        )

    def tolerances(
        self, paper: Cell, here: Cell, unit: str, metric: str, noise: Noise, seeds: int
    ) -> tuple[float, float]:
        """The largest differences that agree and that are close, where the paper has so many `seeds`."""
        if paper.mean is None:
            return 0.0, 0.0
        config = self.workload.config.verdict
        rounding = half_unit(
            paper.mean, unit, digits_of(self.workload.papers[self.paper].metrics)(metric)
        )
        agrees = agreement_tolerance(
            noise, here.seeds or 1, seeds, rounding, config.significance_level
        )
        return agrees, closeness_tolerance(paper.mean, unit, config)


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
    noise = pooled_noise(numbers.ours.cells)
    lines: list[ComparisonLine] = []
    for name, (paper, _, artifact) in workload.artifacts.items():
        if artifact.kind in MEASURED_KINDS and artifact.columns:
            reported = numbers.reported.get(name, Cells())
            lines += _Table(
                workload, name, paper, artifact, numbers.ours, reported, doubts, noise
            ).lines()
    return lines
