"""The lines of comparison.csv where the paper's layout has them: what the page and the tables beside the paper show."""

from collections.abc import Iterable
from typing import Any

from fairfl.experiments.explanations import family
from fairfl.experiments.layout import Layout
from fairfl.experiments.paper import Artifact, Paper
from fairfl.judgement.cells import DIVERGED
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import printed_cell, printed_spread
from fairfl.reporting.grid import Grid, Place, grids_of
from fairfl.reporting.inputs import Row, rows_of


class Compared:
    """Compared numbers of an artifact, by their places."""

    def __init__(self, lines: Iterable[ComparisonLine], artifact: Artifact, paper: Paper) -> None:
        titles = {name: algorithm.title for name, algorithm in paper.algorithms.items()}
        self.artifact = artifact
        self.own = rows_of(artifact, titles)
        self.names: dict[str, str] = artifact.options.get("labels", {})
        self.placed: dict[Place, ComparisonLine] = {}
        self.known: dict[Row, set[str]] = {}  # how the hyper-parameters of a row are known
        for line in lines:
            variant = line.variant
            own = (
                row
                for row in self.own
                if row.variant == variant and row.setting in (None, line.setting)
            )
            # Numbers that the paper prints for other variants have rows of their own.
            row = next(own, None) or Row(variant, titles.get(line.algorithm, line.algorithm))
            self.placed[line.setting, row, line.metric] = line
            self.known.setdefault(row, set()).update(line.provenance.split(", "))

    def grids(self) -> list[Grid]:
        """The artifact's, then one for the numbers of a table that it has no place for."""
        table, rows = (
            self.artifact.kind == "table",
            list(dict.fromkeys([*self.own, *(row for _, row, _ in self.placed)])),
        )
        columns = self.artifact.columns
        more = [
            place
            for place in self.placed
            if table
            and (
                not {place[2], family(place[2])} & {*columns}
                or (self.own and place[1] not in self.own)
            )
        ]
        grids = grids_of(self.artifact, rows, [place for place in self.placed if place not in more])
        plain = self.artifact.model_copy(update={"layout": Layout()})
        return grids + (grids_of(plain, rows, more) if more else [])


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
        "reported_marks": [],
        "contradiction": line.contradiction,
    }
