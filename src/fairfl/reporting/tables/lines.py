"""The lines of a table: each number as it is printed, and what is missing."""

import math
import re
from dataclasses import dataclass, replace

from fairfl.judgement.cells import NO_VARIANT, Cell
from fairfl.judgement.units import endless, printed, printed_cell, printed_spread
from fairfl.metrics.origin import origin
from fairfl.reporting.formulas import literal
from fairfl.reporting.inputs import Inputs, Row
from fairfl.reporting.notes import grouped, plural

MISSING, DIVERGED = "–", "diverged"


@dataclass(frozen=True)
class Entry:
    """Where a cell is printed: our number, the paper's if that stands beside it, and the word for infinity."""

    ours: Cell  # without seeds if nothing was run
    reported: Cell | None = None
    endless: str = ""
    missing: str = MISSING  # what stands for a number that there is not

    @property
    def sources(self) -> list[str]:
        """The runs, or the other results, that the number comes from."""
        return [re.sub(r"^(partitions/[^/]+)/.*|\.json$", r"\1", run) for run in self.ours.runs]

    @property
    def std(self) -> float | None:
        """None unless there are two seeds."""
        return self.ours.std if self.ours.seeds > 1 else None

    def number(self, digits: int) -> str:
        """'0.152', '> 300', 'diverged', '–' or 'not run'."""
        missing = DIVERGED if self.ours.diverged else self.missing
        return printed_cell(
            self.ours.mean, self.ours.unit, digits, endless=self.endless, missing=missing
        )

    def beside(self, digits: int, mark: str = "") -> str:
        """'(± 0.207)', '(paper: 0.01)', '(2 of 3 seeds)' if the others reached the target, '' if there is none.

        `mark` leads to the note of the paper's number.
        """
        if self.reported is not None and self.reported.mean is not None:
            return f"(paper: {printed(self.reported.mean, self.ours.unit, digits)}{mark})"
        if self.ours.mean is not None and 0 < self.ours.censored < self.ours.seeds:
            return f"({self.ours.censored} of {self.ours.seeds} seeds)"
        return "" if self.std is None else f"(± {printed_spread(self.std, self.ours.unit, digits)})"

    def rank(self, digits: int) -> float | None:
        """What it is compared by, as printed; None if there is no number."""
        if self.ours.mean is None or math.isinf(self.ours.mean):
            return self.ours.mean
        return float(self.number(digits))


# Why all numbers of a line are missing, by where they would come from.
_NOTHING = {"tidy": "not run", "timed": "not timed", "tuned": "not tuned"}


@dataclass(frozen=True)
class TableLine:
    """One row in one setting."""

    setting: str
    row: Row
    entries: dict[str, Entry]
    nothing: str | None  # why the line has no number at all; None if it has one

    def of(self, kind: str) -> list[Cell]:
        """Our numbers from one place."""
        return [entry.ours for metric, entry in self.entries.items() if origin(metric) == kind]


def entry(inputs: Inputs, setting: str, row: Row, metric: str) -> Entry:
    """A metric of a row. Beside choices, counts and what settings say stands the paper's number."""
    beside = origin(metric) not in ("tidy", "timed")
    return Entry(
        inputs.cell(setting, row, metric) or Cell(None, unit=inputs.metric(metric).unit),
        inputs.reported(setting, row, metric) if beside else None,
        endless(metric, inputs.spec.settings[setting].rounds),
    )


def lines_of(inputs: Inputs) -> list[TableLine]:
    """The table's rows, setting by setting; one without a name where numbers belong to no algorithm."""
    artifact = inputs.spec.artifact
    lines: list[TableLine] = []
    for setting in inputs.settings:
        for row in inputs.rows_in(setting) or [Row(NO_VARIANT, "")] * (not inputs.rows):
            given = artifact.columns_for(row.algorithm, setting)
            columns = [metric for column in given for metric in inputs.members(column, setting)]
            entries = {metric: entry(inputs, setting, row, metric) for metric in columns}
            nothing, kinds = None, set(map(origin, columns))
            if not any(each.ours.seeds for each in entries.values()):
                nothing = next((reason for kind, reason in _NOTHING.items() if kind in kinds), None)
            if nothing:
                entries = {
                    metric: replace(each, missing=nothing) for metric, each in entries.items()
                }
            lines += [TableLine(setting, row, entries, nothing)] * bool(entries)
    return lines


def best(
    lines: list[TableLine], metric: str, direction: str | None, digits: int
) -> set[tuple[str, Row]]:
    """(setting, row) of the best values per setting, compared as printed."""
    winners: set[tuple[str, Row]] = set()
    for setting in {line.setting for line in lines} if direction else ():
        ranks = {
            line.row: rank
            for line in lines
            if line.setting == setting and metric in line.entries
            if (rank := line.entries[metric].rank(digits)) is not None
        }
        if len(ranks) > 1:
            top = (max if direction == "up" else min)(ranks.values())
            winners |= {
                (setting, row) for row, rank in ranks.items() if rank == top and math.isfinite(rank)
            }
    return winners


def remarks(inputs: Inputs, lines: list[TableLine], names: dict[str, str]) -> None:
    """Say what is missing and why: metrics without a value, divergence, seeds."""

    def called(line: TableLine) -> str:
        parts = [line.row.label] * bool(line.row.label) + [names[line.setting]] * (len(names) > 1)
        return parts[0] if len(parts) == 1 else f"{parts[0]} ({parts[1]})"

    some = [line for line in lines if not line.nothing]
    empty = [
        f"{m} of {called(line)}"
        for line in some
        for m, entry in line.entries.items()
        if not entry.ours.seeds
    ]
    inputs.remark(f"{MISSING} No value", empty)
    for kind, what in (
        ("tidy", "a seed ended without a finite value"),
        ("tuned", "at every point of the grid"),
    ):
        diverged = [called(line) for line in lines if any(cell.diverged for cell in line.of(kind))]
        inputs.remark(f"Diverged ({what})", diverged)
    if any(cell.mean == math.inf for line in lines for cell in line.of("tidy")):
        inputs.say("> n: not reached in n rounds.")
    ran = [(line, max(cell.seeds for cell in line.of("tidy"))) for line in some if line.of("tidy")]
    inputs.compare_seeds((called(line), seeds, line.setting) for line, seeds in ran)


def on_machines(inputs: Inputs, lines: list[TableLine], names: dict[str, str]) -> None:
    """Say where and how often was timed, once for all settings that have it in common."""
    machines = []
    for setting, timing in inputs.results.timings.items():
        times: dict[int, list[str]] = {}
        entries = {
            m: e
            for line in lines
            if line.setting == setting
            for m, e in line.entries.items()
            if e.ours.seeds
        }
        for metric, timed in entries.items():
            if origin(metric) == "timed":
                times.setdefault(timed.ours.seeds, []).append(inputs.metric(metric).name)
        often = [
            f"{plural(number, 'repetition')} of {' and '.join(what)}"
            for number, what in times.items()
        ]
        machines.append(
            (
                names[setting],
                f"Measured on {literal(timing.machine)}: {', '.join(often) or 'nothing'}",
            )
        )
    for sentence in grouped(machines):
        inputs.say(sentence)
