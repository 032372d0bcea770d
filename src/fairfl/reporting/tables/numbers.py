"""The numbers of a table: each as it is printed, and what is missing."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from fairfl.experiments.described import Metric
from fairfl.experiments.origin import origin
from fairfl.judgement.cells import Cell
from fairfl.judgement.results import describe_machine
from fairfl.judgement.units import endless, printed, printed_cell, printed_spread
from fairfl.reporting.footer import grouped, plural
from fairfl.reporting.formulas import literal
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.pivot import frame_of

MISSING, DIVERGED = "–", "diverged"
# Why all numbers of a line are missing, by where they would come from.
NOTHING = {"tidy": "not run", "timed": "not timed", "tuned": "not tuned"}


@dataclass(frozen=True)
class Number:
    """A number of a table as it is printed."""

    ours: Cell  # without seeds if nothing was run
    metric: Metric
    text: str  # '0.152', '> 300', 'diverged', '–' or 'not run'
    beside: str  # '(± 0.207)', '(paper: 0.01 [1])', '(2 of 3 seeds)' if the others reached the target, or ''
    score: float  # to be compared, as printed, more is better; NaN if there is nothing to compare
    best: bool = False  # of its metric in its setting


def numbers_of(inputs: Inputs, rows: Iterable[ShownRow], notes: dict[str, str]) -> pd.DataFrame:
    """The table's numbers, line by line. Notes on the paper's numbers are added to `notes`, each with its mark."""
    numbers = [
        number
        for setting in inputs.settings
        for row in rows
        if row.setting in (None, setting)
        for number in _line(inputs, setting, row, notes)
    ]
    frame = frame_of(inputs.spec.artifact, inputs.rows, numbers)
    scores = pd.Series([number.score for number in frame["number"]], frame.index, float)
    groups = scores.groupby([frame["metric"], frame["setting"]])
    best = (groups.transform("count") > 1) & (scores == groups.transform("max"))
    best &= np.isfinite(scores)
    marked = [replace(one, best=mark) for one, mark in zip(frame["number"], best, strict=True)]
    return frame.assign(number=marked)


def _line(
    inputs: Inputs, setting: str, row: ShownRow, notes: dict[str, str]
) -> Iterator[tuple[str, ShownRow, str, Number]]:
    """The numbers of a row. Beside choices, counts and what settings say stands the paper's number."""
    families = inputs.spec.artifact.columns_for(row.algorithm, setting)
    columns = [metric for column in families for metric in inputs.members(column, setting)]
    cells = {metric: inputs.cell(setting, row, metric) for metric in columns}
    kinds, ran = set(map(origin, columns)), any(cell and cell.seeds for cell in cells.values())
    nothing = next((why for kind, why in NOTHING.items() if kind in kinds and not ran), MISSING)
    for metric, cell in cells.items():
        described = inputs.metric(metric)
        ours, digits = cell or Cell(None, unit=described.unit), described.digits
        missing = DIVERGED if ours.diverged else nothing
        end = endless(metric, inputs.spec.settings[setting].rounds)
        text = printed_cell(ours.mean, ours.unit, digits, endless=end, missing=missing)
        alone, beside = origin(metric) in ("tidy", "timed"), ""
        reported = None if alone else inputs.reported(setting, row, metric)
        mark = notes.setdefault(reported.note, f" [{len(notes)}]") if reported else ""
        if reported and reported.mean is not None:
            beside = f"(paper: {printed(reported.mean, ours.unit, digits)}{mark})"
        elif ours.mean is not None and 0 < ours.censored < ours.seeds:
            beside = f"({ours.censored} of {ours.seeds} seeds)"
        elif ours.seeds > 1 and ours.std is not None:
            beside = f"(± {printed_spread(ours.std, ours.unit, digits)})"
            if origin(metric) == "tidy":
                inputs.say("± one standard deviation over seeds.")
        value = math.nan if ours.mean is None else ours.mean
        value = float(text) if math.isfinite(value) else value
        score = value * {"up": 1, "down": -1, None: math.nan}[described.direction]
        yield setting, row, metric, Number(ours, described, text, beside, score)


def say_missing(inputs: Inputs, numbers: pd.DataFrame, names: dict[str, str]) -> None:
    """Say what is missing and why: metrics without a value, divergence, seeds."""

    def called(one: Any) -> str:
        parts = [part for part in (one.row, names[one.setting] if len(names) > 1 else "") if part]
        return parts[0] if len(parts) == 1 else "{} ({})".format(*parts)

    every = list(numbers.itertuples())
    empty = [f"{one.metric} of {called(one)}" for one in every if one.number.text == MISSING]
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
        if one.number.text not in NOTHING.values():
            line = called(one), one.setting
            seeds[line] = max(seeds.get(line, 0), one.number.ours.seeds)
    fewer: dict[int, list[str]] = {}
    for (name, setting), number in sorted(seeds.items(), key=itemgetter(1)):
        if number < inputs.spec.settings[setting].seeds:
            fewer.setdefault(number, []).append(name)
    for number, some in fewer.items():
        if len(some) == len(seeds):
            inputs.say(f"Seeds run: only {number}.")
        else:
            inputs.remark(f"Only {plural(number, 'seed')}", some)


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
