"""The numbers of an artifact on the page: tables in the paper's layout."""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from fairfl.experiments.artifact import Artifact
from fairfl.experiments.described import Metric
from fairfl.experiments.paper import Paper
from fairfl.judgement.cells import metric_of
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.measurements import CHECKED, DIFFER, seeds_said
from fairfl.judgement.recorded import Place
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import endless
from fairfl.reporting.compared import (
    PrintedNumber,
    Provenances,
    pivots_of_lines,
    printed_number,
)
from fairfl.reporting.marks import legend
from fairfl.reporting.page.details import sentences_on
from fairfl.reporting.page.made import runs_of
from fairfl.reporting.page.text import readable
from fairfl.reporting.pivot import Pivot, spans

Details = list[tuple[list[str], list[str]]]  # of each number on the page: sentences, runs


class PageNumber(NamedTuple):
    """A number on the page, and the stored one at full scale where that is another number."""

    of: PrintedNumber
    stored: PrintedNumber | None
    verdict: str  # at full scale, if that has run
    detail: int  # place among all details


def table_views(
    lines: list[ComparisonLine],
    paper: Paper,
    artifact: Artifact,
    details: Details,
    rounds: Mapping[str, tuple[int, int]],
    stored: Mapping[Place, ComparisonLine],
) -> list[dict[str, Any]]:
    """The numbers in the paper's layout, as the template shows them; sentences and runs of each go to `details`.

    `rounds` of each setting, here and in the paper; `stored` numbers at full scale.
    """

    def endless_of(line: ComparisonLine) -> tuple[str, str]:
        here, there = (endless(line.metric, number) for number in rounds[line.setting])
        return here, there

    def number(one: PrintedNumber) -> PageNumber:
        line, full = one.line, stored.get(one.line.place)
        metric, title = metric_of(paper.metrics, line.metric), readable(one.row.label)
        details.append((sentences_on(line, title, metric, over, full), runs_of(line)))
        other = None
        if full and (full.ours, full.verdict) != (line.ours, line.verdict):
            there = endless_of(line)[1]
            other = printed_number(full, paper, one.row, there, there)
        return PageNumber(one, other, (full or line).verdict, len(details) - 1)

    over = "repetitions" if artifact.origins == ("timed",) else "seeds"
    pivots, provenances = pivots_of_lines(lines, artifact, paper, endless_of)
    names = paper.metrics, artifact.options.get("labels", {}), provenances
    return [_table(pivot, number, *names) | {"over": over} for pivot in pivots]


def _table(
    pivot: Pivot,
    number: Callable[[PrintedNumber], PageNumber],
    metrics: Mapping[str, Metric],
    labels: Mapping[str, str],
    provenances: Provenances,
) -> dict[str, Any]:
    """View of a pivot for the template."""
    cells = pivot.lines(lambda *ones: list(map(number, ones)), lambda words: [])
    above, front = (
        pivot.heads(side, metrics, labels, provenances)
        for side in (pivot.cells.columns, pivot.cells.index)
    )
    verdicts = [{one.verdict for ones in line for one in ones} for line in cells]
    numbers = list(pivot.numbers["number"])
    is_one_metric = len({one.line.metric for one in numbers}) == 1
    notes = list(dict.fromkeys(note for one in numbers for note in one.notes))
    reported = [one for one in numbers if one.reported]
    unmarked, common = summarize_verdicts({one.line.verdict for one in numbers})
    return {
        "title": numbers[0].metric if is_one_metric else "",
        "corner": pivot.corner,
        "header": spans(above),
        "legend": legend({word for one in numbers for word in provenances[one.row]}),
        "notes": notes,
        "shared_notes": [note for note in notes if all(note in one.notes for one in reported)],
        "unmarked": unmarked,
        "common": common,
        "seeds": seeds_said([one.line for one in numbers]),
        "stored_few": {one.stored.few for ones in chain(*cells) for one in ones if one.stored},
        "is_reported": bool(reported),
        "rows": [
            {
                "heads": front[n],
                "cells": line,
                "rule": n in pivot.rules,
                "checked": not verdicts[n].isdisjoint(CHECKED),
                "differing": not verdicts[n].isdisjoint(DIFFER),
            }
            for n, line in enumerate(cells)
        ],
    }


def summarize_verdicts(verdicts: set[str]) -> tuple[set[str], str]:
    """The verdicts that no cell of a table needs to be marked with, and the words for all of it instead."""
    others = verdicts - {"not reported"}
    if len(others) == 1:
        return verdicts, f"all: {VERDICTS[others.pop()][2]}"
    if others and all(word.startswith(("not comparable", "not run")) for word in others):
        return verdicts - {"not run"}, "not checked: other data or another scale than the paper's"
    return {"not reported"}, ""
