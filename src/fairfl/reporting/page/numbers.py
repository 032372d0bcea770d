"""The numbers of an artifact on the page: tables in the paper's layout."""

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from fairfl.experiments.described import Metric
from fairfl.experiments.paper import Artifact, Paper
from fairfl.judgement.cells import DIVERGED, digits_of, metric_of
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.measurements import CHECKED, DIFFER, seeds_said
from fairfl.judgement.recorded import Place
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import endless, unit_words
from fairfl.reporting.compared import Compared, cell_view
from fairfl.reporting.grid import Grid, Head, numbers_of, spans
from fairfl.reporting.marks import legend, marks
from fairfl.reporting.page.details import Details
from fairfl.reporting.page.text import readable


class HeadView(NamedTuple):
    """What stands above a column or in front of a line."""

    name: str
    small: str = ""
    meaning: str = ""
    marks: str = ""


def table_views(
    lines: list[ComparisonLine],
    paper: Paper,
    artifact: Artifact,
    details: Details,
    rounds: dict[str, tuple[int, int]],
    recorded: Mapping[Place, ComparisonLine] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """The numbers in the paper's layout; `rounds` of each setting, here and in the paper; `recorded` at full scale."""
    numbers = Compared(lines, artifact, paper)
    over = "repetitions" if artifact.origins == ("timed",) else "seeds"
    cells = {}
    for place, line in numbers.placed.items():
        full = recorded.get(line.place)
        here, there = (endless(line.metric, number) for number in rounds[line.setting])
        view = cell_view(line, digits_of(paper.metrics)(line.metric), here, there)
        view["detail"] = details.add(
            line, readable(place[1].label), metric_of(paper.metrics, line.metric), over, full
        )
        if full is None or (full.ours, full.verdict) == (
            line.ours,
            line.verdict,
        ):  # this run is the recorded one
            view["recorded"] = None
        else:
            view["recorded"] = cell_view(full, digits_of(paper.metrics)(line.metric), there, there)
        view["sort"] = "inf" if line.ours == math.inf else ""  # of the others the text is sorted
        view["best"] = (full or line).verdict
        view["notes"] = [
            note for note in line.reported_note.split("; ") if note not in ("", DIVERGED)
        ]
        cells[place] = view
    return [_table(grid, numbers, cells, paper) for grid in numbers.grids()]


def _table(
    grid: Grid, numbers: Compared, cells: dict[Any, dict[str, Any]], paper: Paper
) -> dict[str, Any]:
    """What the template shows of a grid; notes on the paper's numbers are numbered, those on all stand in the head."""
    here = [cells[place] for place in grid.numbers]
    notes, everywhere = _number_notes(here)
    axes = {head.axis for heads in (*grid.lines, *grid.columns) for head in heads}
    bears = "row" if "row" in axes else "setting"
    metrics = {metric for _, _, metric in grid.numbers}

    def heads(along: Iterable[Head]) -> list[HeadView]:
        return [_head(head, numbers, paper, bears) for head in along]

    unmarked, said = said_once({cell["verdict"] for cell in here})
    stored = {cell["recorded"]["few"] for cell in here if cell["recorded"]}
    rows = [[[cells[place] for place in numbers_of(cell)] for cell in line] for line in grid.places]
    return {
        "title": metric_name(paper.metrics, metrics.pop()) if len(metrics) == 1 else "",
        "corner": grid.corner,
        "header": spans([tuple(heads(column)) for column in grid.columns]),
        "legend": legend(
            {word for _, row, _ in grid.numbers for word in numbers.known.get(row, ())}
        ),
        "notes": notes,
        "everywhere": everywhere,
        "unmarked": unmarked,
        "said": said,
        "seeds": seeds_said(numbers.placed[place] for place in grid.numbers),
        "recorded": bool(stored),
        "recorded_few": stored.pop() if len(stored) == 1 else None,
        "unreported": not any(cell["reported"] for cell in here),
        "rows": [
            _row(heads(line), row, number in grid.rules)
            for number, (line, row) in enumerate(zip(grid.lines, rows, strict=True))
        ],
    }


def _number_notes(cells: list[dict[str, Any]]) -> tuple[list[str], list[int]]:
    """Notes on the paper's numbers, and the numbers of those that all cells have; the others are marked in cells."""
    notes = list(dict.fromkeys(note for cell in cells for note in cell["notes"]))
    reported = [cell["notes"] for cell in cells if cell["reported"]]
    common = [note for note in notes if len(reported) > 1 and all(note in own for own in reported)]
    for cell in cells:
        marks = [notes.index(note) + 1 for note in cell["notes"] if note not in common]
        cell["reported_marks"] = marks
    return notes, [notes.index(note) + 1 for note in common]


def said_once(verdicts: set[str]) -> tuple[set[str], str]:
    """The verdicts that no cell of a table needs to be marked with, and what is said of all of it instead."""
    given = verdicts - {"not reported"}
    if len(given) == 1:
        return verdicts, f"all: {VERDICTS[given.pop()][2]}"
    if given and all(word.startswith(("not comparable", "not run")) for word in given):
        return verdicts - {"not run"}, "not checked: other data or another scale than the paper's"
    return {"not reported"}, ""


def _row(heads: list[HeadView], cells: list[list[dict[str, Any]]], rule: bool) -> dict[str, Any]:
    """A line of a table; `checked` and `differing` if one of its numbers is, here or in the record."""
    verdicts = {cell["best"] for places in cells for cell in places}
    checked, differing = not verdicts.isdisjoint(CHECKED), not verdicts.isdisjoint(DIFFER)
    return {
        "heads": heads,
        "cells": cells,
        "rule": rule,
        "checked": checked,
        "differing": differing,
    }


def _head(head: Head, numbers: Compared, paper: Paper, bears: str) -> HeadView:
    marked = marks(
        {word for row in head.rows for word in numbers.known.get(row, ())}
        if head.axis == bears
        else ()
    )
    metric = metric_of(paper.metrics, head.key) if head.axis == "metric" else None
    if metric is None:
        return HeadView(
            numbers.names.get(head.key, head.key) if head.axis == "setting" else head.key,
            marks=marked,
        )
    better = {"up": "higher is better", "down": "lower is better", None: ""}[metric.direction]
    units = " or ".join(filter(None, map(unit_words, (metric.unit, *metric.other_units))))
    return HeadView(metric.name, ", ".join(filter(None, (units, better))), metric.meaning, marked)


def metric_name(metrics: dict[str, Metric], name: str) -> str:
    """What a paper calls a metric, or the metric's id."""
    metric = metric_of(metrics, name)
    return metric.name if metric else name


def contradictions_view(
    lines: list[ComparisonLine], metrics: dict[str, Metric]
) -> list[dict[str, Any]]:
    """The numbers of a paper that others of its numbers speak against."""
    return [
        {
            "of": line,
            "row": line.algorithm + (f"({line.hyperparameters})" if line.hyperparameters else ""),
            "metric": metric_name(metrics, line.metric),
            **cell_view(line, digits_of(metrics)(line.metric), "", "∞"),
        }
        for line in lines
        if line.contradiction
    ]
