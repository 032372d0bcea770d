"""The lines of comparison.csv as numbers of a pivot: what the page and the tables beside the paper show."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from fairfl.experiments.explanations import family
from fairfl.experiments.layout import Layout
from fairfl.experiments.paper import Artifact, Paper
from fairfl.judgement.cells import DIVERGED
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import printed_cell, printed_spread
from fairfl.reporting.inputs import ShownRow, rows_of
from fairfl.reporting.pivot import Pivot, frame_of, pivots_of

Known = dict[ShownRow, set[str]]  # how the hyper-parameters of a row are known


def compared(
    lines: Iterable[ComparisonLine], artifact: Artifact, paper: Paper
) -> tuple[list[Pivot], Known]:
    """The lines in the artifact's layout, then, of a table, those that it has no place for; what marks rows have."""
    titles = {name: algorithm.title for name, algorithm in paper.algorithms.items()}
    own = rows_of(artifact, titles)
    known: Known = {}
    numbers = {}
    for line in lines:
        fitting = (
            row
            for row in own
            if row.variant == line.variant and row.setting in (None, line.setting)
        )
        # Numbers that the paper prints for other variants have rows of their own.
        row = next(fitting, None) or ShownRow(
            line.variant, titles.get(line.algorithm, line.algorithm)
        )
        known.setdefault(row, set()).update(line.provenance.split(", "))
        numbers[line.setting, row, line.metric] = line
    frame = frame_of(artifact, own, ((*place, line) for place, line in numbers.items()))
    placeless = [
        artifact.kind == "table"
        and (not {metric, family(metric)} & {*artifact.columns} or (bool(own) and row not in own))
        for _, row, metric in numbers
    ]
    apart = np.array(placeless, bool)
    plain = artifact.model_copy(update={"layout": Layout()})
    return pivots_of(artifact, frame[~apart]) + pivots_of(plain, frame[apart]), known


def cell_view(
    line: ComparisonLine, digits: int, endless_here: str, endless_there: str
) -> dict[str, Any]:
    """One number of ours and the paper's; `endless_here` and `endless_there` stand for infinity in them."""
    unit, ran = line.unit, line.seeds > 0
    theirs_diverged = line.reported_note.startswith(DIVERGED) and line.verdict != "not reported"
    spreads = (line.ours_std if line.seeds > 1 else None, line.reported_spread)
    ours_std, reported_std = (
        "" if spread is None else printed_spread(spread, unit, digits) for spread in spreads
    )
    return {
        "ours": printed_cell(line.ours, unit, digits, endless=endless_here, missing=DIVERGED * ran),
        "ours_std": ours_std,
        "few": f"{line.seeds} of {line.reported_seeds} seeds" if line.fewer_seeds else "",
        "reported": printed_cell(
            line.reported, unit, digits, endless=endless_there, missing=DIVERGED * theirs_diverged
        ),
        "reported_std": reported_std,
        "verdict": line.verdict,
        "contradiction": line.contradiction,
    }
