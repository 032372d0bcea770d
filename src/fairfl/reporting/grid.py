"""What stands where: the numbers of an artifact in the layout that its paper chose.

Tables, the side-by-side tables numbers and the page are the same grid with other words in its cells.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TypeVar

from fairfl.experiments.described import Metric
from fairfl.experiments.layout import Axis
from fairfl.experiments.paper import SelectedArtifact
from fairfl.reporting.inputs import Row
from fairfl.runtime.errors import FairflError

ARROWS = {"up": " ↑", "down": " ↓", None: ""}
CORNERS: dict[Axis, str] = {"setting": "Dataset", "row": "Algorithm", "metric": "Metric"}
Place = tuple[str, Row, str]  # setting, row, metric
Content = tuple[Place, Place | None] | str | None  # of a cell
Spot = tuple[tuple[str, ...], tuple[str, ...], bool]  # keys of line and column; in brackets
Level = TypeVar("Level", bound=Hashable)


@dataclass(frozen=True)
class Head:
    """What a line or a column is called by: a setting, a metric or a row; and the rows whose numbers it holds."""

    axis: Axis
    key: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Grid:
    """Lines and columns, each with its heads from the outermost on; `rules` are the lines with a rule above.

    A place is a number and, if there is one, the number in brackets behind it; words, or None for an empty cell.
    """

    down: list[Axis]
    columns: list[tuple[Head, ...]]
    lines: list[tuple[Head, ...]]
    places: list[list[Content]]
    rules: set[int]

    @property
    def numbers(self) -> list[Place]:
        return [place for line in self.places for cell in line for place in numbers_of(cell)]

    @property
    def corner(self) -> list[str]:
        return [CORNERS[axis] for axis in self.down]


def numbers_of(cell: Content) -> list[Place]:
    """The numbers in a cell."""
    return [place for place in cell if place] if isinstance(cell, tuple) else []


def key_of(place: Place, axis: Axis) -> str:
    """What a place is known by on an axis; rows that are called alike are one."""
    setting, row, metric = place
    return {"setting": setting, "row": row.label, "metric": metric}[axis]


def grids_of(
    artifact: SelectedArtifact, rows: Sequence[Row], places: Sequence[Place]
) -> list[Grid]:
    """The numbers in the artifact's layout, a grid for each of its blocks; settings, `rows` and metrics in their order.

    Raises FairflError if two numbers fall into one cell.
    """
    layout = artifact.layout
    down, across = _shown(layout.down, places), _shown(layout.across, places)
    blocks = layout.blocks or [[place[0] for place in places]]
    inside = [[place for place in places if place[0] in block] for block in blocks]
    return [_grid(artifact, rows, each, down, across) for each in inside if each]


def _shown(axes: list[Axis], places: Iterable[Place]) -> list[Axis]:
    """The axes that have something to tell apart; rows with a name always do."""
    keys = {axis: {key_of(place, axis) for place in places} for axis in axes}
    named = [axis for axis in axes if any(keys[axis])]
    return [axis for axis in named if axis == "row" or len(keys[axis]) > 1] or named[-1:]


def _grid(
    artifact: SelectedArtifact,
    rows: Sequence[Row],
    places: list[Place],
    down: list[Axis],
    across: list[Axis],
) -> Grid:
    behind = {theirs: first for first, theirs in artifact.layout.brackets.items()}
    fronts = [place for place in places if place[2] not in behind]
    settings = [*artifact.settings, *(place[0] for place in places)]
    metrics = [*artifact.columns, *(place[2] for place in places)]

    def place_of(head: Head) -> int:
        if head.axis == "row":
            return rows.index(head.rows[0])
        return (settings if head.axis == "setting" else metrics).index(head.key)

    def ordered(axes: list[Axis]) -> dict[tuple[str, ...], tuple[Head, ...]]:
        """Keys along a side, and their heads: those of the first axis in their order, within each those of the next."""
        found = {
            keys: _heads(keys, axes, fronts, rows)
            for keys in {_along(place, axes) for place in fronts} or {()}
        }
        return dict(sorted(found.items(), key=lambda item: [*map(place_of, item[1])]))

    cells = _by_spot(places, behind, down, across)

    def content(line: tuple[str, ...], column: tuple[str, ...]) -> Content:
        front = cells.get((line, column, False))
        return front and (front, cells.get((line, column, True)))

    lines, columns = ordered(down), ordered(across)
    ruled = {_along(place, down) for place in fronts if place[1].ruled and "row" in down}
    rules = {
        n
        for n, (before, line) in enumerate(pairwise([(), *lines]))
        if line in ruled or (before and len(down) > 1 and line[0] != before[0])
    }
    places_of = [[content(line, column) for column in columns] for line in lines]
    return Grid(down, [*columns.values()], [*lines.values()], places_of, rules)


def _by_spot(
    places: list[Place], behind: dict[str, str], down: list[Axis], across: list[Axis]
) -> dict[Spot, Place]:
    """The numbers by where they stand; `behind`: metric in brackets -> the one before it."""
    cells: dict[Spot, Place] = {}
    for place in places:
        front = (*place[:2], behind.get(place[2], place[2]))
        spot = _along(front, down), _along(front, across), place[2] in behind
        if other := cells.get(spot):
            raise FairflError(
                f"two rows are called {place[1].label!r}; give them a `title` each ({place[0]}: {other[2]})"
            )
        cells[spot] = place
    return cells


def _along(place: Place, axes: list[Axis]) -> tuple[str, ...]:
    return tuple(key_of(place, axis) for axis in axes)


def _heads(
    keys: tuple[str, ...], axes: list[Axis], places: list[Place], rows: Sequence[Row]
) -> tuple[Head, ...]:
    """The heads of a line or column; each knows the rows of the numbers that lie in it and in the heads before it."""
    heads = []
    for n, (axis, key) in enumerate(zip(axes, keys, strict=True), 1):
        inside = {place[1] for place in places if _along(place, axes[:n]) == keys[:n]}
        heads.append(Head(axis, key, tuple(row for row in rows if row in inside)))
    return tuple(heads)


def spans(columns: Sequence[tuple[Level, ...]]) -> list[list[tuple[Level, int]]]:
    """Lines of a header: what stands above how many columns. Equal neighbours are one, but in the last line."""
    *upper, last = range(1, len(columns[0]) + 1)
    above = [groupby(columns, itemgetter(slice(level))) for level in upper]
    return [
        *([(heads[-1], len(list(same))) for heads, same in line] for line in above),
        [(column[last - 1], 1) for column in columns],
    ]


def title(metric: Metric) -> str:
    """'accuracy ↑'."""
    return metric.name + ARROWS[metric.direction]
