"""Rows of comparison.csv as they are printed, alone or in pivots: for the page, docs/ and tables side by side."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairfl.experiments.artifact import Artifact
from fairfl.experiments.explanations import family
from fairfl.experiments.layout import Layout
from fairfl.experiments.paper import Paper
from fairfl.judgement.cells import DIVERGED, digits_of, metric_of
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.measurements import DIFFER, measurements
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import printed_cell, printed_spread
from fairfl.reporting.inputs import ShownRow, rows_of
from fairfl.reporting.pivot import Pivot, frame_of, pivots_of

MISSING = "–"
Provenances = dict[ShownRow, set[str]]  # how the hyper-parameters of a row are known


@dataclass(frozen=True)
class PrintedNumber:
    """Our number and the published one, as texts; '' without one."""

    line: ComparisonLine
    row: ShownRow
    metric: str  # as the paper calls it
    ours: str
    ours_std: str
    reported: str
    reported_std: str

    @property
    def few(self) -> str:
        """'1 of 3 seeds' if the paper has more."""
        line = self.line
        return f"{line.seeds} of {line.reported_seeds} seeds" if line.fewer_seeds else ""

    @property
    def both(self) -> tuple[str, str]:
        """('81.2 ± 0.4', '80.9'); – without a number."""
        ours = f"{self.ours} ± {self.ours_std}" if self.ours and self.ours_std else self.ours
        spread = f" ± {self.reported_std}" if self.reported and self.reported_std else ""
        return ours or MISSING, self.reported + spread or MISSING

    @property
    def sign(self) -> str:
        """Sign of the verdict."""
        verdict = self.line.verdict
        return "" if verdict == "not reported" else VERDICTS[verdict][1]

    @property
    def notes(self) -> list[str]:
        """Notes on the published number."""
        return [note for note in self.line.reported_note.split("; ") if note not in ("", DIVERGED)]


def metric_name(paper: Paper, name: str) -> str:
    """A metric as the paper calls it, or its id."""
    metric = metric_of(paper.metrics, name)
    return metric.name if metric else name


def differing(lines: Iterable[ComparisonLine]) -> list[ComparisonLine]:
    """Each number that differs once, farthest from the published one first."""
    numbers = (line for line, *_ in measurements(lines).values() if line.verdict in DIFFER)
    return sorted(numbers, key=distance, reverse=True)


def distance(line: ComparisonLine) -> float:
    """Difference over tolerance; infinite for runs that diverged and where nothing may differ."""
    if line.difference is None or not line.tolerance:
        return math.inf
    return abs(line.difference) / line.tolerance


def titles_of(paper: Paper) -> dict[str, str]:
    """Titles of a paper's algorithms."""
    return {name: algorithm.title for name, algorithm in paper.algorithms.items()}


def row_of(line: ComparisonLine, rows: Sequence[ShownRow], titles: Mapping[str, str]) -> ShownRow:
    """The one of an artifact's rows that a number stands in, or a new one: papers print numbers of other variants."""
    for row in rows:
        if row.variant == line.variant and row.setting in (None, line.setting):
            return row
    return ShownRow(line.variant, titles.get(line.algorithm, line.algorithm))


def printed_number(
    line: ComparisonLine,
    paper: Paper,
    row: ShownRow | None = None,
    endless_ours: str = "∞",
    endless_reported: str = "∞",
) -> PrintedNumber:
    """A number in its artifact's words. The last two arguments stand for infinity, ours and the published one."""
    digits, unit = digits_of(paper.metrics)(line.metric), line.unit

    def texts(value: float | None, spread: float | None, *words: str) -> tuple[str, str]:
        endless, missing = words
        text = printed_cell(value, unit, digits, endless=endless, missing=missing)
        return text, "" if spread is None else printed_spread(spread, unit, digits)

    if row is None:
        titles, artifact = titles_of(paper), paper.artifacts[line.artifact.partition("_")[2]]
        row = row_of(line, rows_of(artifact, titles), titles)
    ours_std = line.ours_std if line.seeds > 1 else None
    has_diverged = line.reported_note.startswith(DIVERGED) and line.verdict != "not reported"
    return PrintedNumber(
        line,
        row,
        metric_name(paper, line.metric),
        *texts(line.ours, ours_std, endless_ours, DIVERGED if line.seeds else ""),
        *texts(
            line.reported, line.reported_spread, endless_reported, DIVERGED if has_diverged else ""
        ),
    )


def pivots_of_lines(
    lines: Iterable[ComparisonLine],
    artifact: Artifact,
    paper: Paper,
    endless: Callable[[ComparisonLine], tuple[str, str]],
) -> tuple[list[Pivot], Provenances]:
    """Pivots of `PrintedNumber` in the artifact's layout, then, of a table, metrics that it has no place for.

    `endless` has the words for infinity, ours and the published one.
    """
    titles = titles_of(paper)
    rows, provenances, numbers = rows_of(artifact, titles), Provenances(), []
    for line in lines:
        row = row_of(line, rows, titles)
        provenances.setdefault(row, set()).update(line.provenance.split(", "))
        number = printed_number(line, paper, row, *endless(line))
        numbers.append((line.setting, row, line.metric, number))
    placeless = [
        artifact.kind == "table"
        and (not {metric, family(metric)} & {*artifact.columns} or (bool(rows) and row not in rows))
        for _, row, metric, _ in numbers
    ]
    frame, apart = frame_of(artifact, rows, numbers), np.array(placeless, bool)
    plain = artifact.model_copy(update={"layout": Layout()})
    return pivots_of(artifact, frame[~apart]) + pivots_of(plain, frame[apart]), provenances
