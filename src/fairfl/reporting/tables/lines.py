"""The numbers of a table: each from the runs, choices, counts or seconds that it is made of, and what is missing."""

import math
import statistics
from dataclasses import dataclass

from fairfl.experiments.variant import Variant
from fairfl.metrics.origin import origin
from fairfl.reporting.inputs import Inputs, Row, finite
from fairfl.reporting.notes import plural
from fairfl.reporting.units import counts, endless, factor, printed
from fairfl.runtime.errors import FairflError

MISSING, DIVERGED = "–", "diverged"


@dataclass(frozen=True)
class Cell:
    """A metric of one row in one setting: mean and population std over `seeds` seeds (or repetitions), in `unit`."""

    mean: float | None  # None: not run; NaN: a seed diverged; infinite: without limit
    std: float | None  # None: fewer than two seeds
    seeds: int
    unit: str
    runs: tuple[str, ...]
    reported: float | None = None  # printed beside it
    reported_note: str = ""  # how that is known
    endless: str = ""  # printed for an infinite mean
    censored: int = 0  # seeds that did not reach the target

    def number(self, digits: int) -> str:
        """'0.152', '> 300', 'diverged' or '–'."""
        if self.mean is None:
            return MISSING
        if math.isinf(self.mean):
            return self.endless
        return DIVERGED if math.isnan(self.mean) else printed(self.mean, self.unit, digits)

    def beside(self, digits: int, mark: str = "") -> str:
        """'(± 0.207)', '(paper: 0.01)', '(2 of 3 seeds)' if the others reached the target, '' if there is none.

        `mark` leads to the note of the paper's number.
        """
        if self.reported is not None:
            return f"(paper: {printed(self.reported, self.unit, digits)}{mark})"
        if 0 < self.censored < self.seeds:
            return f"({self.censored} of {self.seeds} seeds)"
        return f"(± {printed(self.std, self.unit, digits)})" if finite(self.mean) and finite(self.std) else ""

    def rank(self, digits: int) -> float | None:
        """What it is compared by, as printed; None if there is no number."""
        if self.mean is None or math.isnan(self.mean):
            return None
        return self.mean if math.isinf(self.mean) else float(self.number(digits))


@dataclass(frozen=True)
class Line:
    """One row in one setting; `rule` says that the paper draws a rule above it."""

    setting: str
    row: Row
    cells: dict[str, Cell]
    rule: bool


def cell(inputs: Inputs, setting: str, row: Row, metric: str, unit: str) -> Cell:
    """A metric, wherever its value comes from, in `unit` unless the setting has another one."""
    makers = {"tidy": over_seeds, "timed": over_repetitions}
    return makers.get(origin(metric), single)(inputs, setting, row, metric, unit)


def over_seeds(inputs: Inputs, setting: str, row: Row, metric: str, unit: str) -> Cell:
    """Aggregate a metric over seeds. Raises FairflError if a seed stands twice."""
    own = row.of(inputs.tidy)
    own = own[(own["setting"] == setting) & (own["metric"] == metric)].sort_values("seed", kind="stable")
    if own.empty:
        return Cell(None, None, 0, unit, ())
    if own["seed"].duplicated().any():
        raise FairflError(f"{setting}: {row.label}: metric {metric} stands twice for one seed")
    values, runs, unit = own["value"].tolist(), tuple(own["run"]), own["unit"].iloc[0]
    if not all(counts(value, unit) for value in values):  # a mean over the surviving seeds would flatter the algorithm
        return Cell(math.nan, None, len(values), unit, runs)
    if censored := values.count(math.inf):
        limit = endless(metric, inputs.spec["settings"][setting]["rounds"])
        return Cell(math.inf, None, len(values), unit, runs, endless=limit, censored=censored)
    std = statistics.pstdev(values) if len(values) > 1 else None
    return Cell(statistics.fmean(values), std, len(values), unit, runs)


def over_repetitions(inputs: Inputs, setting: str, row: Row, metric: str, unit: str) -> Cell:
    """Aggregate what was timed."""
    found = inputs.timed.get(setting)
    seconds = found.of(row.variant, metric) if found else []
    if not seconds:
        return Cell(None, None, 0, unit, ())
    scale = factor("seconds", unit)
    mean, std = (scale * function(seconds) for function in (statistics.fmean, statistics.pstdev))
    return Cell(mean, std if len(seconds) > 1 else None, len(seconds), unit, (f"timed/{setting}",))


def single(inputs: Inputs, setting: str, row: Row, metric: str, unit: str) -> Cell:
    """A choice, a count or what the setting says: one number without seeds, with the paper's."""
    match origin(metric):
        case "tuned":
            values, runs = inputs.chosen(setting, row.algorithm), (f"tuned/{setting}/{row.algorithm}",)
        case "statistics":
            values, runs = inputs.counted(setting), (f"partitions/{setting}",)
        case _:
            values, runs = inputs.said(setting), ()
    found = metric in values
    paper = inputs.reported_for(setting, row, metric)
    number, note = (paper["value"].iloc[0], paper["note"].iloc[0]) if len(paper) else (None, "")
    limit = endless(metric, inputs.spec["settings"][setting]["rounds"])
    return Cell(values.get(metric), None, int(found), unit, runs * found, number, note, limit)


def lines_of(inputs: Inputs) -> list[Line]:
    """The table's rows, setting by setting; one without a name where numbers belong to no algorithm."""
    spec, metrics = inputs.spec["artifact"], inputs.spec["metrics"]
    lines = []
    for setting in inputs.settings:
        there = spec["columns_in"].get(setting, spec["columns"])
        for number, row in enumerate(inputs.rows or [Row(Variant("", {}), "")]):
            if row.setting not in (None, setting):
                continue
            columns = spec["columns_of"].get(row.algorithm, spec["columns"])
            cells = {m: cell(inputs, setting, row, m, metrics[m]["unit"]) for m in columns if m in there}
            first_of_next = bool(inputs.rows and lines and lines[-1].setting != setting)
            if cells:
                lines.append(Line(setting, row, cells, first_of_next or number in spec["rules"]))
    return lines


def best(lines: list[Line], metric: str, direction: str | None, digits: int) -> set[tuple[str, Row]]:
    """(setting, row) of the best values per setting, compared as printed."""
    winners: set[tuple[str, Row]] = set()
    for setting in {line.setting for line in lines} if direction else ():
        shown = {
            line.row: value
            for line in lines
            if line.setting == setting and metric in line.cells
            if (value := line.cells[metric].rank(digits)) is not None
        }
        if len(shown) > 1:
            top = (max if direction == "up" else min)(shown.values())
            winners |= {(setting, row) for row, value in shown.items() if value == top and math.isfinite(value)}
    return winners


# Why all numbers of a line are missing, by where they would come from.
_NOTHING = {"tidy": "Not run", "timed": "Not timed", "tuned": "Not tuned"}


def remarks(inputs: Inputs, lines: list[Line], names: dict[str, str]) -> None:
    """Say what is missing and why: runs that were not asked for, metrics without a value, divergence."""

    def called(line: Line) -> str:
        parts = [line.row.label] * bool(line.row.label) + [names[line.setting]] * (len(names) > 1)
        return parts[0] if len(parts) == 1 else f"{parts[0]} ({parts[1]})"

    def of(line: Line, kind: str) -> list[Cell]:
        return [own for metric, own in line.cells.items() if origin(metric) == kind]

    def nothing(line: Line) -> str | None:
        """Why a line has no number at all."""
        if any(own.seeds for own in line.cells.values()):
            return None
        return next((what for kind, what in _NOTHING.items() if of(line, kind)), None)

    for what in _NOTHING.values():
        inputs.remark(f"{MISSING} {what}", [called(line) for line in lines if nothing(line) == what])
    empty = [f"{m} of {called(x)}" for x in lines if not nothing(x) for m, c in x.cells.items() if not c.seeds]
    inputs.remark(f"{MISSING} No value", empty)
    for kind, what in (("tidy", "a seed ended without a finite value"), ("tuned", "at every point of the grid")):
        diverged = [called(x) for x in lines if any(c.mean is not None and math.isnan(c.mean) for c in of(x, kind))]
        inputs.remark(f"Diverged ({what})", diverged)
    if any(c.censored for x in lines for c in of(x, "tidy")):
        inputs.say("> n: not reached in n rounds.")
    asked = inputs.spec["settings"]
    ran = [(x, max(c.seeds for c in of(x, "tidy"))) for x in lines if not nothing(x) and of(x, "tidy")]
    fewer = [f"{called(x)} ({seeds})" for x, seeds in ran if seeds < asked[x.setting]["seeds"]]
    inputs.remark("Fewer seeds", fewer)


def on_machines(inputs: Inputs, lines: list[Line], names: dict[str, str]) -> None:
    """Say where and how often was timed, once for all settings that have it in common."""
    groups: dict[str, list[str]] = {}
    for setting, found in inputs.timed.items():
        cells = [(m, c) for x in lines if x.setting == setting for m, c in x.cells.items() if origin(m) == "timed"]
        times: dict[int, list[str]] = {}
        for metric, repetitions in {m: c.seeds for m, c in cells if c.seeds}.items():
            times.setdefault(repetitions, []).append(inputs.spec["metrics"][metric]["name"])
        often = [f"{plural(number, 'repetition')} of {' and '.join(what)}" for number, what in times.items()]
        groups.setdefault(f"Measured on {found.machine}: {', '.join(often) or 'nothing'}.", []).append(names[setting])
    for sentence, members in groups.items():
        inputs.say(sentence if len(groups) == 1 else f"{', '.join(members)}: {sentence}")
