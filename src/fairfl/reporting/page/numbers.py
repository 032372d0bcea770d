"""The numbers of an artifact on the page: tables in the paper's layout."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from fairfl.experiments.described import Metric
from fairfl.experiments.paper import Artifact, Paper
from fairfl.judgement.cells import DIVERGED, digits_of, metric_of
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.measurements import CHECKED, DIFFER, seeds_said
from fairfl.judgement.recorded import Place
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import endless, unit_words
from fairfl.reporting.compared import Known, cell_view, compared
from fairfl.reporting.inputs import ShownRow
from fairfl.reporting.marks import legend, marks
from fairfl.reporting.page.details import Details, sentences_on
from fairfl.reporting.page.text import readable
from fairfl.reporting.pivot import Pivot, spans


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
    recorded: Mapping[Place, ComparisonLine],
) -> list[dict[str, Any]]:
    """The numbers in the paper's layout; `rounds` of each setting, here and in the paper; `recorded` at full scale."""
    pivots, known = compared(lines, artifact, paper)
    over = "repetitions" if artifact.origins == ("timed",) else "seeds"
    digits = digits_of(paper.metrics)

    numbers = [pivot.numbers[["row", "number"]].itertuples(index=False) for pivot in pivots]
    titles = {line.place: readable(title) for some in numbers for title, line in some}

    def cell(line: ComparisonLine) -> dict[str, Any]:
        full = recorded.get(line.place)
        here, there = (endless(line.metric, number) for number in rounds[line.setting])
        metric = metric_of(paper.metrics, line.metric)
        # None: this run is the recorded one.
        other = full if full and (full.ours, full.verdict) != (line.ours, line.verdict) else None
        notes = [note for note in line.reported_note.split("; ") if note not in ("", DIVERGED)]
        return cell_view(line, digits(line.metric), here, there) | {
            "detail": details.add(line, sentences_on(line, titles[line.place], metric, over, full)),
            "recorded": cell_view(other, digits(line.metric), there, there) if other else None,
            "sort": "inf" if line.ours == math.inf else "",  # of the others the text is sorted
            "best": (full or line).verdict,
            "notes": notes,
        }

    return [_table(pivot, known, cell, paper, artifact) for pivot in pivots]


def _table(
    pivot: Pivot,
    known: Known,
    cell: Callable[[ComparisonLine], dict[str, Any]],
    paper: Paper,
    artifact: Artifact,
) -> dict[str, Any]:
    """What the template shows of a pivot; notes on the paper's numbers are numbered, those on all stand in the head."""
    lines = pivot.lines(lambda *ones: list(map(cell, ones)), lambda words: [])
    here = [one for line in lines for ones in line for one in ones]
    notes, everywhere = _number_notes(here)
    metrics = pivot.numbers["metric"].unique()
    head = partial(_head, paper, artifact.options.get("labels", {}), known)
    unmarked, said = said_once({one["verdict"] for one in here})
    stored = {one["recorded"]["few"] for one in here if one["recorded"]}
    fronts = zip(pivot.heads(pivot.cells.index, head), lines, strict=True)
    return {
        "title": metric_name(paper.metrics, metrics[0]) if len(metrics) == 1 else "",
        "corner": pivot.corner,
        "header": spans(pivot.heads(pivot.cells.columns, head)),
        "legend": legend({word for row in pivot.numbers["of"] for word in known.get(row, ())}),
        "notes": notes,
        "everywhere": everywhere,
        "unmarked": unmarked,
        "said": said,
        "seeds": seeds_said(pivot.numbers["number"]),
        "recorded": bool(stored),
        "recorded_few": stored.pop() if len(stored) == 1 else None,
        "unreported": not any(one["reported"] for one in here),
        "rows": [_row(*of, n in pivot.rules) for n, of in enumerate(fronts)],
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


def _row(
    heads: tuple[HeadView, ...], cells: list[list[dict[str, Any]]], rule: bool
) -> dict[str, Any]:
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


def _head(
    paper: Paper, labels: Mapping[str, str], known: Known, axis: str, key: str, rows: list[ShownRow]
) -> HeadView:
    marked = marks({word for row in rows for word in known.get(row, ())})
    metric = metric_of(paper.metrics, key) if axis == "metric" else None
    if metric is None:
        return HeadView(labels.get(key, key) if axis == "setting" else key, marks=marked)
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
            "row": line.variant.selector,
            "metric": metric_name(metrics, line.metric),
            **cell_view(line, digits_of(metrics)(line.metric), "", "∞"),
        }
        for line in lines
        if line.contradiction
    ]
