"""A pivot as text: its header over several lines, its lines, its cells."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.experiments.described import Metric
from fairfl.reporting.inputs import ShownRow
from fairfl.reporting.pivot import Heading, Pivot, spans
from fairfl.reporting.tables.markup import LATEX, MARKDOWN, Markup
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import nearest

ARROWS = {"up": " ↑", "down": " ↓", None: ""}
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


def title(metric: Metric) -> str:
    """'accuracy ↑'."""
    return metric.name + ARROWS[metric.direction]


def with_words(pivot: Pivot, words: Sequence[Words], settings: Sequence[str], where: str) -> Pivot:
    """The pivot with columns of words. Raises FairflError unless lines are settings and columns metrics."""
    cells = pivot.cells.copy()
    alone = [*settings] * len(cells) if len(settings) == 1 else []
    down = cells.index.to_frame().get("setting", alone)
    if words and (cells.columns.names[-1] != "metric" or len(down) < len(cells)):
        raise FairflError(
            f"{where}: options.words: no place for words unless lines are settings, columns metrics"
        )
    for added in words:
        columns = [keys[-1] for keys in cells.columns]
        if added.after not in columns:
            raise FairflError(
                f"{where}: options.words: no column {added.after!r}{nearest(added.after, columns)}"
            )
        column = (*[""] * (cells.columns.nlevels - 1), added.title)
        texts = [added.texts.get(setting, "") for setting in down]
        cells.insert(columns.index(added.after) + 1, column, texts)
    return replace(pivot, cells=cells)


def tabulars(
    pivots: Sequence[Pivot],
    settings: Mapping[str, str],
    metrics: Mapping[str, Metric],
    words: Mapping[ShownRow, Collection[str]],
    cell: Callable[..., str],
) -> dict[Markup, list[str]]:
    """Each pivot in Markdown and LaTeX. `settings`, `metrics` and `words` are for `Pivot.heads`; `cell` writes a
    number, and the one in brackets behind it, in a markup."""

    def texts(markup: Markup, heading: Heading) -> list[str]:
        """A heading in lines of a header; the last one bears its marks."""
        name = title(heading.metric) if heading.metric else heading.name
        row = heading.row
        parts = [markup.row(row)] if row else list(map(markup.text, name.split(BAR)))
        return [*parts[:-1], f"{parts[-1]} {markup.text(heading.marks)}".rstrip()]

    def tabular(markup: Markup, pivot: Pivot) -> str:
        columns, index = (
            [
                [texts(markup, heading) for heading in headings]
                for headings in pivot.heads(side, metrics, settings, words)
            ]
            for side in (pivot.cells.columns, pivot.cells.index)
        )
        above = [list(chain(*headings)) for headings in columns]
        depth = max(map(len, above))
        header = spans([(*lines, *[""] * (depth - len(lines))) for lines in above])
        lines = pivot.lines(partial(cell, markup), markup.text)
        body = [[*map(" ".join, front), *line] for front, line in zip(index, lines, strict=True)]
        is_text = pivot.cells.map(lambda one: isinstance(one, str)).any()
        align = "l" * pivot.cells.index.nlevels + "".join("l" if text else "r" for text in is_text)
        return markup.table([*map(markup.text, pivot.corner)], header, body, pivot.rules, align)

    return {markup: [tabular(markup, pivot) for pivot in pivots] for markup in (MARKDOWN, LATEX)}
