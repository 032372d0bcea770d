"""The numbers of a table: each as it is printed, and what is missing."""

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from fairfl.experiments.described import Metric
from fairfl.experiments.origin import origin
from fairfl.judgement.cells import NO_VARIANT, Cell
from fairfl.judgement.results import describe_machine
from fairfl.judgement.sources import RowProvenance
from fairfl.judgement.units import endless, printed, printed_cell, printed_spread
from fairfl.reporting.footer import grouped, plural
from fairfl.reporting.formulas import literal
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.pivot import frame_of

MISSING, DIVERGED = "–", "diverged"
# Why all numbers of a line are missing, by where they would come from.
_NOTHING = {"tidy": "not run", "timed": "not timed", "tuned": "not tuned"}


@dataclass(frozen=True)
class Number:
    """A number of a table: our cell, the paper's if it is shown, and the word for infinity."""

    ours: Cell  # without seeds if nothing was run
    reported: Cell | None
    metric: Metric
    endless: str
    missing: str  # what stands for a number that there is not
    provenance: RowProvenance
    best: bool = False  # of its metric in its setting

    @property
    def sources(self) -> list[str]:
        """The runs, or the other results, that the number comes from."""
        return [re.sub(r"^(partitions/[^/]+)/.*|\.json$", r"\1", run) for run in self.ours.runs]

    @property
    def std(self) -> float | None:
        """None unless there are two seeds."""
        return self.ours.std if self.ours.seeds > 1 else None

    @property
    def text(self) -> str:
        """'0.152', '> 300', 'diverged', '–' or 'not run'."""
        ours, missing = self.ours, DIVERGED if self.ours.diverged else self.missing
        return printed_cell(
            ours.mean, ours.unit, self.metric.digits, endless=self.endless, missing=missing
        )

    def beside(self, mark: str = "") -> str:
        """'(± 0.207)', '(paper: 0.01)', '(2 of 3 seeds)' if the others reached the target, '' without one.

        `mark` leads to the note of the paper's number.
        """
        ours, digits = self.ours, self.metric.digits
        if self.reported is not None and self.reported.mean is not None:
            return f"(paper: {printed(self.reported.mean, ours.unit, digits)}{mark})"
        if ours.mean is not None and 0 < ours.censored < ours.seeds:
            return f"({ours.censored} of {ours.seeds} seeds)"
        return "" if self.std is None else f"(± {printed_spread(self.std, ours.unit, digits)})"

    @property
    def score(self) -> float:
        """Value to be compared, as printed, more is better; NaN if there is nothing to compare."""
        mean = self.ours.mean
        if mean is None or self.metric.direction is None:
            return math.nan
        value = mean if math.isinf(mean) else float(self.text)
        return value if self.metric.direction == "up" else -value


def numbers_of(inputs: Inputs) -> pd.DataFrame:
    """The table's numbers, line by line; of a row without a name where they belong to no algorithm."""
    spec, numbers = inputs.spec, list[tuple[str, ShownRow, str, Number]]()
    rows = {
        row: RowProvenance(entry.provenance, row.algorithm in spec.reconstructed, entry.note)
        for row, entry in zip(inputs.rows, spec.artifact.rows, strict=True)
    } or {ShownRow(NO_VARIANT, ""): RowProvenance("")}
    for setting in inputs.settings:
        for row, provenance in rows.items():
            if row.setting in (None, setting):
                numbers += _line(inputs, setting, row, provenance)
    frame = frame_of(inputs.spec.artifact, inputs.rows, numbers)
    scores = pd.Series([number.score for number in frame["number"]], frame.index, float)
    groups = scores.groupby([frame["metric"], frame["setting"]])
    best = (groups.transform("count") > 1) & (scores == groups.transform("max"))
    best &= np.isfinite(scores)
    marked = [replace(one, best=mark) for one, mark in zip(frame["number"], best, strict=True)]
    return frame.assign(number=marked)


def _line(
    inputs: Inputs, setting: str, row: ShownRow, provenance: RowProvenance
) -> list[tuple[str, ShownRow, str, Number]]:
    """The numbers of a row. Beside choices, counts and what settings say stands the paper's number."""
    families = inputs.spec.artifact.columns_for(row.algorithm, setting)
    columns = [metric for column in families for metric in inputs.members(column, setting)]
    cells = {metric: inputs.cell(setting, row, metric) for metric in columns}
    kinds, ran = set(map(origin, columns)), any(cell and cell.seeds for cell in cells.values())
    nothing = next((why for kind, why in _NOTHING.items() if kind in kinds and not ran), MISSING)
    rounds = inputs.spec.settings[setting].rounds
    numbers = []
    for metric, cell in cells.items():
        described, ours = inputs.metric(metric), cell or Cell(None, unit=inputs.metric(metric).unit)
        alone = origin(metric) in ("tidy", "timed")
        reported = None if alone else inputs.reported(setting, row, metric)
        number = Number(ours, reported, described, endless(metric, rounds), nothing, provenance)
        numbers.append((setting, row, metric, number))
    return numbers


def say_missing(inputs: Inputs, numbers: pd.DataFrame, names: dict[str, str]) -> None:
    """Say what is missing and why: metrics without a value, divergence, seeds."""

    def called(one: Any) -> str:
        parts = [part for part in (one.row, names[one.setting] if len(names) > 1 else "") if part]
        return parts[0] if len(parts) == 1 else "{} ({})".format(*parts)

    every = list(numbers.itertuples())
    some = [one for one in every if one.number.missing == MISSING]
    empty = [f"{one.metric} of {called(one)}" for one in some if not one.number.ours.seeds]
    inputs.remark(f"{MISSING} No value", empty)
    for kind, what in (
        ("tidy", "a seed ended without a finite value"),
        ("tuned", "at every point of the grid"),
    ):
        of_kind = (one for one in every if origin(one.metric) == kind and one.number.ours.diverged)
        inputs.remark(f"Diverged ({what})", dict.fromkeys(map(called, of_kind)))
    measured = [one for one in every if origin(one.metric) == "tidy"]
    if any(one.number.ours.mean == math.inf for one in measured):
        inputs.say("> n: not reached in n rounds.")
    seeds: dict[tuple[str, str], int] = {}
    for one in measured:
        if one.number.missing == MISSING:
            line = called(one), one.setting
            seeds[line] = max(seeds.get(line, 0), one.number.ours.seeds)
    inputs.compare_seeds((name, number, setting) for (name, setting), number in seeds.items())


def say_machines(inputs: Inputs, numbers: pd.DataFrame, names: dict[str, str]) -> None:
    """Say where and how often was timed, once for all settings that have it in common."""
    machines = []
    for setting, timing in inputs.results.timings.items():
        times: dict[int, dict[str, None]] = {}
        for one in numbers[numbers["setting"] == setting].itertuples():
            if origin(one.metric) == "timed" and one.number.ours.seeds:
                names_of = times.setdefault(one.number.ours.seeds, {})
                names_of[one.number.metric.name] = None
        often = [
            f"{plural(number, 'repetition')} of {' and '.join(what)}"
            for number, what in times.items()
        ]
        text = f"Measured on {literal(describe_machine(timing))}: {', '.join(often) or 'nothing'}"
        machines.append((names[setting], text))
    for sentence in grouped(machines):
        inputs.say(sentence)
