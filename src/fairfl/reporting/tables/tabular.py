"""A pivot as text: its header over several lines, its lines, its cells."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.experiments.described import Metric
from fairfl.judgement.cells import metric_of
from fairfl.reporting.inputs import ShownRow
from fairfl.reporting.marks import marks
from fairfl.reporting.pivot import Pivot, spans
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
        known = [keys[-1] for keys in cells.columns]
        if added.after not in known:
            raise FairflError(
                f"{where}: options.words: no column {added.after!r}{nearest(added.after, known)}"
            )
        column = (*[""] * (cells.columns.nlevels - 1), added.title)
        texts = [added.texts.get(setting, "") for setting in down]
        cells.insert(known.index(added.after) + 1, column, texts)
    return replace(pivot, cells=cells)


def tabulars(
    pivots: Sequence[Pivot],
    settings: Mapping[str, str],
    metrics: Mapping[str, Metric],
    known: Mapping[ShownRow, Collection[str]],
    cell: Callable[..., str],
) -> dict[Markup, list[str]]:
    """Each pivot in Markdown and LaTeX. `settings` and `metrics` name the heads, `known` says how the hyper-parameters
    of a row are known; `cell` writes a number, and the one in brackets behind it, in a markup."""
    texts = {}
    for markup in (MARKDOWN, LATEX):
        head = partial(_head, markup, settings, metrics, known)
        texts[markup] = [_tabular(pivot, markup, head, partial(cell, markup)) for pivot in pivots]
    return texts


def _head(
    markup: Markup, settings: Mapping[str, str], metrics: Mapping[str, Metric],
    known: Mapping[ShownRow, Collection[str]], axis: str, key: str, rows: list[ShownRow],
) -> list[str]:  # fmt: skip
    """What a line or column is called, in lines of a header; the last one bears the marks of its rows."""
    metric = metric_of(metrics, key) if axis == "metric" else None
    plain = title(metric) if metric else settings.get(key, key) if axis == "setting" else key
    parts = [markup.row(rows[0])] if axis == "row" else list(map(markup.text, plain.split(BAR)))
    words = {word for row in rows for word in known.get(row, ())}
    return [*parts[:-1], f"{parts[-1]} {markup.text(marks(words))}".rstrip()]


def _tabular(
    pivot: Pivot, markup: Markup, head: Callable[..., list[str]], cell: Callable[..., str]
) -> str:
    above = [tuple(chain(*texts)) for texts in pivot.heads(pivot.cells.columns, head)]
    depth = max(map(len, above))
    header = spans([(*texts, *[""] * (depth - len(texts))) for texts in above])
    front = [list(map(" ".join, texts)) for texts in pivot.heads(pivot.cells.index, head)]
    lines = pivot.lines(cell, markup.text)
    words = pivot.cells.map(lambda one: isinstance(one, str)).any()
    align = "l" * pivot.cells.index.nlevels + "".join("l" if text else "r" for text in words)
    body = [[*before, *line] for before, line in zip(front, lines, strict=True)]
    return markup.table(list(map(markup.text, pivot.corner)), header, body, pivot.rules, align)
