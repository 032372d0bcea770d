"""python -m fairfl.artifacts.table: one table as CSV (tidy), Markdown and LaTeX (booktabs).

Rows, columns, order and precision are the paper's. A cell reads "mean (± std)" over seeds (population
standard deviation, as the papers aggregate a fixed list of seeds); one seed has no ±. What was chosen by tuning or
counted in a partition is one number, with the paper's own behind it. The best value of a metric over the rows of a
setting, ties at the printed precision included, is bold.
"""

import argparse
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import Field

from fairfl import atomic, cli
from fairfl.artifacts.inputs import Inputs, Row, finite, labels, note, read_spec
from fairfl.artifacts.markup import (
    latex,
    latex_page,
    latex_row,
    latex_table,
    markdown,
    markdown_page,
    markdown_table,
)
from fairfl.artifacts.units import printed
from fairfl.errors import FairflError
from fairfl.metrics.origin import origin
from fairfl.spec.base import Strict
from fairfl.spec.strict import check, nearest

MISSING, DIVERGED = "–", "diverged"
ARROWS = {"up": " ↑", "down": " ↓", None: ""}
CSV_COLUMNS = (
    "artifact", "setting", "algorithm", "hyperparameters", "metric", "unit", "mean", "std", "seeds", "data", "runs",
)  # fmt: skip


class Words(Strict):
    """A column of words about the settings, between the numbers."""

    title: str
    after: str = Field(description="metric id of the column before it")
    texts: dict[str, str] = Field(description="setting id -> words")


class Config(Strict):
    """Options of a table."""

    labels: dict[str, str] = Field(default_factory=dict, description="setting id -> how the paper calls it")
    words: list[Words] = Field(default_factory=list, description="more columns, in layout arms")


@dataclass(frozen=True)
class Cell:
    """A metric of one row in one setting: mean and population std over `seeds` seeds, in `unit`."""

    mean: float | None  # None: not run; NaN: a seed diverged
    std: float | None  # None: fewer than two seeds
    seeds: int
    unit: str
    runs: tuple[str, ...]
    reported: float | None = None  # printed beside it

    def number(self, digits: int) -> str:
        """'0.152', 'diverged' or '–'."""
        if self.mean is None:
            return MISSING
        return printed(self.mean, self.unit, digits) if finite(self.mean) else DIVERGED

    def beside(self, digits: int) -> str:
        """'(± 0.207)', '(paper: 0.01)', '' if there is none."""
        if self.reported is not None:
            return f"(paper: {printed(self.reported, self.unit, digits)})"
        return f"(± {printed(self.std, self.unit, digits)})" if finite(self.mean) and finite(self.std) else ""


@dataclass(frozen=True)
class Line:
    """One row in one setting; `rule` says that the paper draws a rule above it."""

    setting: str
    row: Row
    cells: dict[str, Cell]
    rule: bool


# -- numbers ----------------------------------------------------------------------------------------
def cell(tidy: pd.DataFrame, setting: str, row: Row, metric: str, unit: str) -> Cell:
    """Aggregate a metric over seeds. Raises FairflError if a seed stands twice."""
    own = row.of(tidy)
    own = own[(own["setting"] == setting) & (own["metric"] == metric)].sort_values("seed", kind="stable")
    if own.empty:
        return Cell(None, None, 0, unit, ())
    if own["seed"].duplicated().any():
        raise FairflError(f"{setting}: {row.label}: metric {metric} stands twice for one seed")
    values = own["value"].tolist()
    runs = tuple(own["run"])
    if not all(map(math.isfinite, values)):  # a mean over the surviving seeds would flatter the algorithm
        return Cell(math.nan, None, len(values), unit, runs)
    std = statistics.pstdev(values) if len(values) > 1 else None
    return Cell(statistics.fmean(values), std, len(values), unit, runs)


def single(inputs: Inputs, setting: str, row: Row, metric: str, unit: str) -> Cell:
    """A choice or a count: one number without seeds, with the paper's."""
    chosen = origin(metric) == "tuned"
    values = inputs.chosen(setting, row.algorithm) if chosen else inputs.counted(setting)
    paper = inputs.reported_for(setting, row, metric)["value"].tolist()
    runs = (f"tuned/{setting}/{row.algorithm}" if chosen else f"partitions/{setting}",) if metric in values else ()
    return Cell(values.get(metric), None, len(runs), unit, runs, paper[0] if paper else None)


def lines_of(inputs: Inputs) -> list[Line]:
    """The table's rows, setting by setting; one without a name where numbers belong to no algorithm."""
    spec, metrics = inputs.spec["artifact"], inputs.spec["metrics"]
    lines = []
    for setting in inputs.settings:
        rows = [(number, row) for number, row in enumerate(inputs.rows) if row.setting in (None, setting)]
        for place, (number, row) in enumerate(rows or [(0, Row("", "", ()))]):
            cells = {}
            for metric in spec["columns_of"].get(row.algorithm, spec["columns"]):
                unit = metrics[metric]["unit"]
                measured = origin(metric) == "tidy"
                cells[metric] = (
                    cell(inputs.tidy, setting, row, metric, unit)
                    if measured
                    else single(inputs, setting, row, metric, unit)
                )
            first_of_next = place == 0 and bool(lines and rows)
            lines.append(Line(setting, row, cells, first_of_next or number in spec["rules"]))
    return lines


def best(lines: list[Line], metric: str, direction: str | None, digits: int) -> set[tuple[str, Row]]:
    """(setting, row) of the best values per setting, compared as printed."""
    winners: set[tuple[str, Row]] = set()
    for setting in {line.setting for line in lines} if direction else ():
        shown = {
            line.row: float(line.cells[metric].number(digits))
            for line in lines
            if line.setting == setting and metric in line.cells and finite(line.cells[metric].mean)
        }
        if len(shown) > 1:
            top = (max if direction == "up" else min)(shown.values())
            winners |= {(setting, row) for row, value in shown.items() if value == top}
    return winners


def remarks(inputs: Inputs, lines: list[Line], names: dict[str, str]) -> None:
    """Say what is missing and why: runs that were not asked for, metrics without a value, divergence."""

    def called(line: Line) -> str:
        return line.row.label if len(names) == 1 else f"{line.row.label} ({names[line.setting]})"

    def of(line: Line, kind: str) -> list[Cell]:
        return [own for metric, own in line.cells.items() if origin(metric) == kind]

    absent = [line for line in lines if not any(c.seeds for c in line.cells.values())]
    inputs.remark(f"{MISSING} Not run", [called(line) for line in absent if of(line, "tidy")])
    inputs.remark(f"{MISSING} Not tuned", [called(line) for line in absent if not of(line, "tidy")])
    empty = [f"{m} of {called(x)}" for x in lines if x not in absent for m, c in x.cells.items() if not c.seeds]
    inputs.remark(f"{MISSING} No value", empty)
    for kind, what in (("tidy", "a seed ended without a finite value"), ("tuned", "at every point of the grid")):
        diverged = [called(x) for x in lines if any(c.mean is not None and not finite(c.mean) for c in of(x, kind))]
        inputs.remark(f"Diverged ({what})", diverged)
    asked = inputs.spec["settings"]
    ran = [(x, max(c.seeds for c in of(x, "tidy"))) for x in lines if x not in absent and of(x, "tidy")]
    fewer = [f"{called(x)} ({seeds})" for x, seeds in ran if seeds < asked[x.setting]["seeds"]]
    inputs.remark("Fewer seeds", fewer)


# -- CSV --------------------------------------------------------------------------------------------
def csv(inputs: Inputs, lines: list[Line]) -> str:
    """One line per cell; mean is empty for a missing run and 'nan' for a diverged one."""
    records = []
    for line in lines:
        for metric, own in line.cells.items():
            mean, std = ("" if number is None else f"{number + 0.0:.9g}" for number in (own.mean, own.std))
            data = inputs.spec["settings"][line.setting]["data"]
            key = (inputs.name, line.setting, line.row.algorithm, line.row.hyperparameters, metric)
            records.append((*key, own.unit, mean, std, own.seeds, data, " ".join(own.runs)))
    return pd.DataFrame(records, columns=list(CSV_COLUMNS)).to_csv(index=False, lineterminator="\n")


# -- layout -----------------------------------------------------------------------------------------
Head = str | Row


@dataclass(frozen=True)
class Grid:
    """What stands where on paper. A place is a number (line, metric), words, or empty."""

    corner: list[str]  # titles of the columns that name the lines
    columns: list[Head]
    heads: list[list[Head]]  # names of each line, as many as `corner`
    places: list[list[tuple[Line, str] | str]]  # of each line, as many as `columns`
    rules: set[int]  # lines with a rule above
    align: str  # "l" or "r" for each column


def grid_of(inputs: Inputs, lines: list[Line], names: dict[str, str], config: Config) -> Grid:
    """The lines in the layout that the artifact asks for. Raises FairflError if that has no place for an option."""
    layout = inputs.spec["artifact"]["layout"]
    if layout == "arms":
        return _arms(inputs, lines, names, config)
    if config.words:
        raise FairflError(f"{inputs.name}: options.words: layout {layout} has no place for words; use layout arms")
    rows: dict[str, Row] = {line.row.label: line.row for line in lines}
    found: dict[tuple[str, str], tuple[Line, str]] = {}
    for line in lines:
        if (line.setting, line.row.label) in found:
            raise FairflError(f"{inputs.name}: two rows are called {line.row.label!r}; give them a `title` each")
        (metric,) = line.cells
        found[line.setting, line.row.label] = (line, metric)
    if layout == "settings_by_arm":
        return Grid(
            corner=["Setting"],
            columns=list(rows.values()),
            heads=[[name] for name in names.values()],
            places=[[found.get((setting, label), "") for label in rows] for setting in names],
            rules=set(),
            align="r" * len(rows),
        )
    return Grid(
        corner=["Algorithm"],
        columns=list(names.values()),
        heads=[[row] for row in rows.values()],
        places=[[found.get((setting, label), "") for setting in names] for label in rows],
        rules={list(rows).index(inputs.rows[number].label) for number in inputs.spec["artifact"]["rules"]},
        align="r" * len(names),
    )


def _arms(inputs: Inputs, lines: list[Line], names: dict[str, str], config: Config) -> Grid:
    spec, metrics = inputs.spec["artifact"], inputs.spec["metrics"]
    unknown = [words.after for words in config.words if words.after not in spec["columns"]]
    if unknown:
        hint = nearest(unknown[0], spec["columns"])
        raise FairflError(f"{inputs.name}: options.words: no column {unknown[0]!r}{hint}")
    columns: list[str | Words] = []
    for metric in spec["columns"]:
        columns += [metric, *(words for words in config.words if words.after == metric)]
    titles = [_title(metrics[column]) if isinstance(column, str) else column.title for column in columns]
    named = bool(inputs.rows)
    several = len(names) > 1 or not named
    return Grid(
        corner=["Setting"] * several + ["Algorithm"] * named,
        columns=titles,
        heads=[[names[line.setting]] * several + [line.row] * named for line in lines],
        places=[[_place(line, column) for column in columns] for line in lines],
        rules={number for number, line in enumerate(lines) if line.rule},
        align="".join("r" if isinstance(column, str) else "l" for column in columns),
    )


def _place(line: Line, column: str | Words) -> tuple[Line, str] | str:
    if isinstance(column, Words):
        return column.texts.get(line.setting, "")
    return (line, column) if column in line.cells else ""


def _title(metric: dict[str, Any]) -> str:
    return metric["name"] + ARROWS[metric["direction"]]


# -- the three files --------------------------------------------------------------------------------
def results_table(spec: dict[str, Any]) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of results."""
    inputs = Inputs(spec)
    artifact, metrics = spec["artifact"], spec["metrics"]
    config = check(artifact["options"], Config, f"papers/{spec['paper']}.yaml", f"artifacts.{spec['id']}.options")
    names = labels(inputs.settings, config.labels)
    lines = lines_of(inputs)
    remarks(inputs, lines, names)
    winners = {m: best(lines, m, metrics[m]["direction"], metrics[m]["digits"]) for m in artifact["columns"]}
    grid = grid_of(inputs, lines, names, config)
    if artifact["layout"] != "arms" and len(artifact["columns"]) == 1:
        inputs.say(f"Cells: {_title(metrics[artifact['columns'][0]])}.")

    def shown(
        place: tuple[Line, str] | str, bold: str, words: Callable[[str], str], number: Callable[[str], str]
    ) -> str:
        if isinstance(place, str):
            return words(place)
        line, metric = place
        digits = metrics[metric]["digits"]
        mean, beside = (number(t) for t in (line.cells[metric].number(digits), line.cells[metric].beside(digits)))
        mean = bold % mean if (line.setting, line.row) in winners[metric] else mean
        return f"{mean} {beside}".rstrip()

    def body(head: Callable[[Head], str], *style: Any) -> list[list[str]]:
        return [
            [*map(head, heads), *(shown(place, *style) for place in places)]
            for heads, places in zip(grid.heads, grid.places, strict=True)
        ]

    def in_markdown(head: Head) -> str:
        return markdown(head.label if isinstance(head, Row) else head)

    def in_latex(head: Head) -> str:
        return latex_row(head) if isinstance(head, Row) else latex(head)

    note_text = " ".join([note(spec, names), *inputs.remarks])
    left = len(grid.corner)
    titles = [*grid.corner, *grid.columns]
    md = markdown_table([*map(in_markdown, titles)], body(in_markdown, "**%s**", markdown, markdown), left)
    tex_body = body(in_latex, r"\textbf{%s}", latex, _number)
    tex = latex_table([*map(in_latex, titles)], tex_body, grid.rules, "l" * left + grid.align)
    return csv(inputs, lines), markdown_page(spec, md, note_text), latex_page(spec, tex, note_text)


def _number(text: str) -> str:
    """A printed number for LaTeX: a hyphen would be a dash too short."""
    return latex(text.replace("-", "−"))


def static_table(spec: dict[str, Any]) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table whose content stands in the paper's YAML."""
    header, content = spec["artifact"]["header"], spec["artifact"]["content"]
    text = pd.DataFrame(content, columns=header).to_csv(index=False, lineterminator="\n")
    body = [[markdown(c) for c in row] for row in content]
    md = markdown_table([markdown(c) for c in header], body, len(header))
    # The last column of such tables holds prose; without a width it would leave the page.
    longest = max(len(row[-1]) for row in content)
    layout = "l" * (len(header) - 1) + ("p{0.6\\linewidth}" if longest > 50 else "l")
    rules = set(spec["artifact"]["rules"])
    tex = latex_table([latex(c) for c in header], [[latex(c) for c in row] for row in content], rules, layout)
    return text, markdown_page(spec, md, ""), latex_page(spec, tex, "")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.artifacts.table", description=__doc__)
    parser.add_argument("--spec", required=True, help="job spec (JSON)")
    for kind in ("csv", "md", "tex"):
        parser.add_argument(f"--{kind}", required=True, type=Path, help=f"the table as .{kind}")
    args = parser.parse_args(argv)
    spec = read_spec(args.spec)
    build = static_table if spec["artifact"]["kind"] == "static_table" else results_table
    for path, text in zip((args.csv, args.md, args.tex), build(spec), strict=True):
        atomic.write_text(path, text)


if __name__ == "__main__":
    cli.run(main)
