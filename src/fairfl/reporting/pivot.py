"""The numbers of an artifact as one DataFrame, and its pivots: rows and columns as the paper chose them.

Tables, tables side by side with the published numbers and the page print the same pivots, with other words in the
cells.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from fairfl.experiments.artifact import SelectedArtifact
from fairfl.experiments.described import Metric
from fairfl.experiments.layout import Axis
from fairfl.judgement.cells import metric_of
from fairfl.reporting.inputs import ShownRow
from fairfl.reporting.marks import marks
from fairfl.runtime.errors import FairflError

CORNERS: dict[str, str] = {"setting": "Dataset", "row": "Algorithm", "metric": "Metric"}
Text = TypeVar("Text")


def frame_of(
    artifact: SelectedArtifact,
    rows: Sequence[ShownRow],
    numbers: Iterable[tuple[str, ShownRow, str, Any]],
) -> pd.DataFrame:
    """A line for each of `numbers` (setting, row, metric, number): columns `setting`, `of` (the row), `metric`,
    `number`, `row` (its label), and of setting, row and metric the place in the paper's order, `row_at` and so on."""
    frame = pd.DataFrame(list(numbers), columns=["setting", "of", "metric", "number"])
    frame["row"] = [row.label for row in frame["of"]]
    orders = {"setting": artifact.settings, "of": rows, "metric": artifact.columns}
    for key, order in orders.items():
        places = {one: at for at, one in enumerate(dict.fromkeys([*order, *frame[key]]))}
        frame[f"{'row' if key == 'of' else key}_at"] = [places[one] for one in frame[key]]
    return frame


class Heading(NamedTuple):
    """Title of a column or line: a setting, a row or a metric."""

    name: str
    metric: Metric | None
    row: ShownRow | None
    marks: str


@dataclass(frozen=True)
class Pivot:
    """One table: the axes that run down are levels of the index of `cells`, axes that run across of its columns.

    A cell is words, or a number of `numbers` and perhaps the one in brackets behind it; None if it is empty.
    """

    numbers: pd.DataFrame
    cells: pd.DataFrame
    rules: set[int]  # lines with a rule above

    @property
    def axes(self) -> list[str]:
        return [*self.cells.index.names, *self.cells.columns.names]

    @property
    def corner(self) -> list[str]:
        return [CORNERS[axis] for axis in self.cells.index.names]

    def heads(
        self,
        side: pd.MultiIndex,
        metrics: Mapping[str, Metric],
        settings: Mapping[str, str],
        words: Mapping[ShownRow, Collection[str]],
    ) -> list[tuple[Heading, ...]]:
        """Headings of each line or column. `metrics` and `settings` name them, `words` say how
        the hyper-parameters of rows are known: one axis bears the marks of the rows whose numbers a heading holds."""
        bears = "row" if "row" in self.axes else "setting"
        inside: dict[tuple[str, ...], dict[ShownRow, None]] = {}
        for *keys, row in self.numbers[[*side.names, "of"]].itertuples(index=False, name=None):
            for n in range(1, len(keys) + 1):
                inside.setdefault(tuple(keys[:n]), {})[row] = None

        def heading(axis: str, key: str, rows: list[ShownRow]) -> Heading:
            metric = metric_of(metrics, key) if axis == "metric" else None
            name = metric.name if metric else settings.get(key, key) if axis == "setting" else key
            marked = {word for row in rows if axis == bears for word in words.get(row, ())}
            return Heading(name, metric, rows[0] if axis == "row" else None, marks(marked))

        return [
            tuple(
                heading(axis, key, list(inside.get(keys[:n], ())))
                for n, (axis, key) in enumerate(zip(side.names, keys, strict=True), 1)
            )
            for keys in side
        ]

    def lines(self, cell: Callable[..., Text], words: Callable[[str], Text]) -> list[list[Text]]:
        """The cells: `cell` writes the numbers that one holds, `words` its words, "" of an empty one."""

        def written(one: Any) -> Text:
            return cell(*one) if isinstance(one, tuple) else words(one or "")

        return [list(map(written, line)) for line in self.cells.to_numpy()]


def pivots_of(artifact: SelectedArtifact, numbers: pd.DataFrame) -> list[Pivot]:
    """The numbers in the artifact's layout, a pivot for each of its blocks.

    Raises FairflError if two numbers fall into one cell.
    """
    layout = artifact.layout
    down, across = _shown(layout.down, numbers), _shown(layout.across, numbers)
    inside = [numbers[numbers["setting"].isin(block)] for block in layout.blocks] or [numbers]
    return [_pivot(block, layout.brackets, down, across) for block in inside if len(block)]


def _shown(axes: Sequence[Axis], numbers: pd.DataFrame) -> list[str]:
    """The axes that have something to tell apart; rows with a name always do."""
    named = [axis for axis in axes if (numbers[axis] != "").any()] or axes[-1:]
    return [axis for axis in named if axis == "row" or numbers[axis].nunique() > 1] or [named[-1]]


def _pivot(
    numbers: pd.DataFrame, brackets: dict[str, str], down: list[str], across: list[str]
) -> Pivot:
    places = numbers[["setting", "of", "metric", "number"]].itertuples(index=False, name=None)
    by_place = {tuple(place): number for *place, number in places}
    first = numbers[~numbers["metric"].isin(brackets.values())]
    cells: dict[tuple[str, ...], tuple[Any, ...]] = {}
    ruled = set()
    for one in first.to_dict("records"):
        line, column = (tuple(one[axis] for axis in axes) for axes in (down, across))
        if line + column in cells:
            raise FairflError(
                f"two rows are called {one['row']!r}; give them a `title` each ({one['setting']}: {one['metric']})"
            )
        behind = by_place.get((one["setting"], one["of"], brackets.get(one["metric"])))
        cells[line + column] = (one["number"],) if behind is None else (one["number"], behind)
        ruled |= {line} if one["of"].ruled and "row" in down else set()
    lines, columns = _ordered(first, down), _ordered(first, across)
    wide = pd.DataFrame(
        [[cells.get(line + column) for column in columns] for line in lines],
        pd.MultiIndex.from_tuples(lines, names=down),
        pd.MultiIndex.from_tuples(columns, names=across),
    )
    rules = {
        n
        for n, (before, line) in enumerate(pairwise([(), *lines]))
        if line in ruled or (before and len(down) > 1 and line[0] != before[0])
    }
    return Pivot(numbers, wide, rules)


def _ordered(numbers: pd.DataFrame, axes: list[str]) -> list[tuple[str, ...]]:
    """The keys along a side: keys of the first axis in the paper's order, within each of them keys of the next."""
    ranks = [
        numbers.groupby(axes[:n])[f"{axis}_at"].transform("min") for n, axis in enumerate(axes, 1)
    ]
    keys = numbers[axes].iloc[np.lexsort(ranks[::-1])]
    return list(dict.fromkeys(keys.itertuples(index=False, name=None)))


def spans(columns: Sequence[tuple[Text, ...]]) -> list[list[tuple[Text, int]]]:
    """Lines of a header: what stands above how many columns. Equal neighbours are one, but in the last line."""
    *upper, last = range(1, len(columns[0]) + 1)
    above = [groupby(columns, itemgetter(slice(level))) for level in upper]
    return [
        *([(heads[-1], len(list(same))) for heads, same in line] for line in above),
        [(column[last - 1], 1) for column in columns],
    ]
