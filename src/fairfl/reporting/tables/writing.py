"""A grid as text: its header over several lines, its lines, its cells."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.experiments.described import Metric
from fairfl.judgement.cells import metric_of
from fairfl.reporting.grid import Grid, Head, Place, spans, title
from fairfl.reporting.inputs import Row
from fairfl.reporting.marks import marks
from fairfl.reporting.tables.markup import LATEX, MARKDOWN, Markup
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import nearest

BAR = " | "  # divides what a setting is called into two lines of a header


class Words(Strict):
    """A column of words about the settings, between the numbers."""

    title: str
    after: str = Field(description="metric id of the column before it")
    texts: dict[str, str] = Field(description="setting id -> words")


class Config(Strict):
    """Options of a table."""

    labels: dict[str, str] = Field(
        default_factory=dict,
        description="setting id -> how the paper calls it; 'MNIST | k = 1' is two lines of a header",
    )
    words: list[Words] = Field(
        default_factory=list, description="more columns, where lines are settings"
    )


@dataclass(frozen=True)
class Names:
    """What stands at the heads of a grid."""

    settings: Mapping[str, str]
    metrics: Mapping[str, Metric]
    known: Mapping[
        Row, Collection[str]
    ]  # how the hyper-parameters of a row are known, as far as marks tell

    def down(self, head: Head, markup: Markup, bears: str) -> str:
        """In front of a line; marks stand at the heads of the axis that `bears` them."""
        return " ".join(self.across([head], markup, bears))

    def across(self, column: Sequence[Head], markup: Markup, bears: str) -> tuple[str, ...]:
        """Above a column, line by line."""
        texts: list[str] = []
        for head in column:
            plain = self._plain(head).split(BAR)
            *parts, last = (
                [markup.row(head.rows[0])] if head.axis == "row" else map(markup.text, plain)
            )
            words = (
                {word for row in head.rows for word in self.known.get(row, ())}
                if head.axis == bears
                else ()
            )
            texts += [*parts, f"{last} {markup.text(marks(words))}".rstrip()]
        return tuple(texts)

    def _plain(self, head: Head) -> str:
        if head.axis == "setting":
            return self.settings.get(head.key, head.key)
        metric = metric_of(self.metrics, head.key)
        return title(metric) if metric else head.key


def with_words(grid: Grid, words: Sequence[Words], settings: Sequence[str], where: str) -> Grid:
    """The grid with columns of words. Raises FairflError unless lines are settings and columns metrics."""
    columns, places = list(grid.columns), [list(line) for line in grid.places]
    metrics = all(column[-1].axis == "metric" for column in columns)
    if words and not (metrics and ("setting" in grid.down or len(settings) == 1)):
        raise FairflError(
            f"{where}: options.words: no place for words unless lines are settings, columns metrics"
        )
    for added in words:
        known = [column[-1].key for column in columns]
        if added.after not in known:
            raise FairflError(
                f"{where}: options.words: no column {added.after!r}{nearest(added.after, known)}"
            )
        at = known.index(added.after) + 1
        columns.insert(at, (Head("metric", added.title, ()),))
        for heads, line in zip(grid.lines, places, strict=True):
            setting = next((head.key for head in heads if head.axis == "setting"), settings[0])
            line.insert(at, added.texts.get(setting, ""))
    return replace(grid, columns=columns, places=places)


def tabular(
    grid: Grid, names: Names, markup: Markup, cell: Callable[[Place, Place | None], str]
) -> str:
    """The grid in a markup; `cell` writes a number, and the one in brackets behind it."""
    axes = {head.axis for heads in (*grid.lines[:1], *grid.columns[:1]) for head in heads}
    bears = "row" if "row" in axes else "setting"
    header = [names.across(column, markup, bears) for column in grid.columns]
    depth = max(map(len, header))
    header = [(*column, *[""] * (depth - len(column))) for column in header]
    body = [
        [
            *(names.down(head, markup, bears) for head in heads),
            *(
                markup.text(place or "")
                if place is None or isinstance(place, str)
                else cell(*place)
                for place in line
            ),
        ]
        for heads, line in zip(grid.lines, grid.places, strict=True)
    ]
    words = [
        any(isinstance(place, str) for place in column) for column in zip(*grid.places, strict=True)
    ]
    align = "l" * len(grid.down) + "".join("l" if text else "r" for text in words)
    return markup.table(
        [markup.text(name) for name in grid.corner], spans(header), body, grid.rules, align
    )


def tabulars(
    grids: Sequence[Grid], names: Names, cell: Callable[[Markup, Place, Place | None], str]
) -> dict[Markup, list[str]]:
    """Each grid in Markdown and LaTeX."""
    return {
        markup: [tabular(grid, names, markup, partial(cell, markup)) for grid in grids]
        for markup in (MARKDOWN, LATEX)
    }
