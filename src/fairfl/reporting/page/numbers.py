"""The numbers of an artifact on the page: tables in the paper's layout."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from fairfl.experiments.described import Metric
from fairfl.experiments.paper import Artifact, Paper
from fairfl.judgement.cells import DIVERGED, digits_of, metric_of
from fairfl.judgement.measurements import CHECKED, DIFFER, seeds_said
from fairfl.judgement.recorded import Place
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import endless, unit_words
from fairfl.reporting.compared import Compared, cell_view
from fairfl.reporting.grid import Head, numbers_of, spans
from fairfl.reporting.marks import legend, marks
from fairfl.reporting.page.details import Details
from fairfl.reporting.page.text import readable

_OF_ALL = {
    "agrees": "all agree",
    "close": "all are close",
    "differs": "all differ",
    "inconclusive": "all are inconclusive",
    "diverged": "all of ours diverged",
    "fitted": "used to choose a value, not counted",
    "not run": "none was run",
    "not comparable: scale": "not checked: other scale",
    "not comparable: stand-in": "not checked: stand-in data",
    "not comparable: stand-in and scale": "not checked: stand-in data, other scale",
    "not comparable: hardware": "not checked: other hardware",
}


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
    digits, numbers = digits_of(paper.metrics), Compared(lines, artifact, paper)
    over = "repetitions" if artifact.origins == ("timed",) else "seeds"
    cells = {}
    for place, line in numbers.placed.items():
        limits = [endless(line.metric, number) for number in rounds[line.setting]]
        full, metric = recorded.get(line.place), metric_of(paper.metrics, line.metric)
        cells[place] = cell_view(line, digits(line.metric), *limits)
        cells[place]["detail"] = details.add(line, readable(place[1].label), metric, over, full)
        cells[place]["recorded"] = recorded_view(full, digits(line.metric), limits[1])
        if full and (full.ours, full.verdict) == (line.ours, line.verdict):
            cells[place]["recorded"] = None  # this run is the recorded one
        cells[place]["sort"] = "inf" if line.ours == math.inf else ""  # of the others the text is sorted
        cells[place]["best"] = full.verdict if full else line.verdict
    views = []
    for grid in numbers.grids():
        notes: dict[str, int] = {}  # on the paper's numbers, numbered
        filled = grid.numbers
        for place in filled:
            of_it = numbers.placed[place].reported_note.split("; ")
            cells[place]["reported_marks"] = [  # that it diverged the cell itself says
                notes.setdefault(note, len(notes) + 1) for note in of_it if note not in ("", DIVERGED)
            ]
        axes = {head.axis for heads in (*grid.lines, *grid.columns) for head in heads}
        bears = "row" if "row" in axes else "setting"
        metrics = list(dict.fromkeys(metric for _, _, metric in filled))
        unmarked, said = said_once({cells[place]["verdict"] for place in filled})
        columns = [[_head(head, numbers, paper, bears) for head in column] for column in grid.columns]
        rows = [[[cells[place] for place in numbers_of(cell)] for cell in places] for places in grid.places]
        every = [cell for row in rows for places in row for cell in places]
        everywhere, _ = _in_common(every)
        stored = [cell["recorded"] for cell in every if cell["recorded"]]
        few = {full["few"] for full in stored}
        for full in stored if len(few) == 1 else ():
            full["few"] = ""
        for column, *inside in zip(columns, *rows, strict=True):
            _raise_notes(column, inside)
        views.append({
            "title": column_view(metrics[0], metric_of(paper.metrics, metrics[0]))["name"] if len(metrics) == 1 else "",
            "corner": grid.corner,
            "header": spans([tuple(column) for column in columns]),
            "legend": legend({word for _, row, _ in filled for word in numbers.known.get(row, ())}),
            "notes": list(notes),
            "everywhere": _marked(everywhere),
            "unmarked": unmarked,
            "said": said,
            "seeds": seeds_said(numbers.placed[place] for place in filled),
            "recorded": bool(stored),
            "recorded_few": f", {few.pop()}" if len(few) == 1 and any(few) else "",
            "unreported": not any(cells[place]["reported"] for place in filled),
            "rows": [
                _row_view([_head(head, numbers, paper, bears, head in above) for head in heads], row, n in grid.rules)
                for n, (heads, row) in enumerate(zip(grid.lines, rows, strict=True))
                for above in [{head for line in grid.lines[:n] for head in line}]
            ],
        })  # fmt: skip
    return views


def said_once(verdicts: set[str]) -> tuple[set[str], str]:
    """The verdicts that no cell of a table needs to be marked with, and what is said of all of it instead."""
    given = verdicts - {"not reported"}
    if len(given) == 1:
        return verdicts, _OF_ALL[next(iter(given))]
    if given and all(word.startswith(("not comparable", "not run")) for word in given):
        return verdicts - {"not run"}, "not checked: other data or another scale than the paper's"
    return {"not reported"}, ""


def _row_view(heads: list[HeadView], cells: list[list[dict[str, Any]]], rule: bool) -> dict[str, Any]:
    """A line of a table; `checked` and `differing` if one of its numbers is, here or in the record."""
    _raise_notes(heads, cells)
    verdicts = {cell["best"] for places in cells for cell in places}
    checked, differing = verdicts.intersection(CHECKED), verdicts.intersection(DIFFER)
    return {"heads": heads, "cells": cells, "rule": rule, "checked": bool(checked), "differing": bool(differing)}


def _in_common(cells: list[dict[str, Any]]) -> tuple[list[int], str]:
    """The notes on every number of the paper, and the seeds of every one of ours; they are taken from the cells."""
    reported, ours = [cell for cell in cells if cell["reported"]], [cell for cell in cells if cell["ours"]]
    marks: list[int] = []
    if len(reported) > 1:
        first, *others = (cell["reported_marks"] for cell in reported)
        marks = [mark for mark in first if all(mark in other for other in others)]
    for cell in reported:
        cell["reported_marks"] = [mark for mark in cell["reported_marks"] if mark not in marks]
    few = {cell["few"] for cell in ours}
    if len(ours) < 2 or len(few) > 1:
        return marks, ""
    for cell in ours:
        cell["few"] = ""
    return marks, few.pop()


def _marked(notes: list[int]) -> str:
    return f"[{', '.join(map(str, notes))}]" if notes else ""


def _raise_notes(heads: list[HeadView], cells: list[list[dict[str, Any]]]) -> None:
    """What is so of all numbers of a line or column goes to its head."""
    notes, few = _in_common([cell for places in cells for cell in places])
    last = heads[-1]
    small = ", ".join(filter(None, (last.small, few)))
    heads[-1] = last._replace(marks=f"{last.marks} {_marked(notes)}".strip(), small=small)


def recorded_view(line: ComparisonLine | None, digits: int, endless_there: str) -> dict[str, Any] | None:
    """The number that is recorded at full scale, and its verdict; None if there is none."""
    if line is None:
        return None
    view = cell_view(line, digits, endless_there, endless_there)
    return {key: view[key] for key in ("ours", "ours_std", "verdict", "few")}


def _head(head: Head, numbers: Compared, paper: Paper, bears: str, again: bool = False) -> HeadView:
    """`again` if it stands in a line above, too: a unit is said once."""
    words = {word for row in head.rows for word in numbers.known.get(row, ())} if head.axis == bears else ()
    if head.axis == "metric":
        view = HeadView(**column_view(head.key, metric_of(paper.metrics, head.key)), marks=marks(words))
        return view._replace(small="") if again else view
    return HeadView(numbers.names.get(head.key, head.key) if head.axis == "setting" else head.key, marks=marks(words))


def column_view(name: str, metric: Metric | None) -> dict[str, str]:
    if metric is None:
        return {"name": name, "small": "", "meaning": ""}
    better = {"up": "higher is better", "down": "lower is better", None: ""}[metric.direction]
    units = " or ".join(filter(None, map(unit_words, (metric.unit, *metric.other_units))))
    small = ", ".join(filter(None, (units, better)))
    return {"name": metric.name, "small": small, "meaning": metric.meaning}


def contradictions_view(lines: list[ComparisonLine], metrics: dict[str, Metric]) -> list[dict[str, str]]:
    """The numbers of a paper that others of its numbers speak against."""
    digits = digits_of(metrics)
    views = []
    for line in lines:
        if line.contradiction:
            cell = cell_view(line, digits(line.metric), "", "∞")
            described = metric_of(metrics, line.metric)
            views.append({
                "artifact": line.artifact,
                "setting": line.setting,
                "row": line.algorithm + (f"({line.hyperparameters})" if line.hyperparameters else ""),
                "metric": described.name if described else line.metric,
                "reported": cell["reported"],
                "reported_std": cell["reported_std"],
                "contradiction": line.contradiction,
            })  # fmt: skip
    return views
