"""What stands where: the numbers of an artifact in the layout that its paper chose.

Tables, the side-by-side tables numbers and the page are the same grid with other words in its cells.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
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


def grids_of(artifact: SelectedArtifact, rows: Sequence[Row], places: Sequence[Place]) -> list[Grid]:
    """The numbers in the artifact's layout, a grid for each of its blocks; settings, `rows` and metrics in their order.

    Raises FairflError if two numbers fall into one cell.
    """
    layout = artifact.layout
    shown = {side: _shown(axes, places) for side, axes in (("down", layout.down), ("across", layout.across))}
    blocks = layout.blocks or [list(dict.fromkeys(place[0] for place in places))]
    grids = []
    for block in blocks:
        inside = [place for place in places if place[0] in block]
        if inside:
            grids.append(_grid(artifact, list(rows), inside, shown["down"], shown["across"]))
    return grids


def _shown(axes: list[Axis], places: Iterable[Place]) -> list[Axis]:
    """The axes that have something to tell apart; rows with a name always do."""
    keys = {axis: {key_of(place, axis) for place in places} for axis in axes}
    named = [axis for axis in axes if any(keys[axis])]
    return [axis for axis in named if axis == "row" or len(keys[axis]) > 1] or named[-1:]


def _grid(
    artifact: SelectedArtifact, rows: list[Row], places: list[Place], down: list[Axis], across: list[Axis]
) -> Grid:
    metrics = list(dict.fromkeys([*artifact.columns, *(place[2] for place in places)]))
    settings = list(dict.fromkeys([*artifact.settings, *(place[0] for place in places)]))

    def ordered(axes: list[Axis]) -> list[tuple[str, ...]]:
        """Keys along a side: those of the first axis in their order, within each those of the next."""
        first: dict[tuple[str, ...], int] = {}
        for setting, row, metric in fronts:
            at = {"setting": settings.index(setting), "row": rows.index(row), "metric": metrics.index(metric)}
            keys = _along((setting, row, metric), axes)
            for depth, axis in enumerate(axes, 1):
                first[keys[:depth]] = min(at[axis], first.get(keys[:depth], at[axis]))
        whole = [keys for keys in first if len(keys) == len(axes)]
        return sorted(whole, key=lambda keys: [first[keys[:depth]] for depth in range(1, len(axes) + 1)]) or [()]

    behind = {theirs: first for first, theirs in artifact.layout.brackets.items()}
    cells: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[bool, Place]] = {}
    fronts = [place for place in places if place[2] not in behind]
    for place in places:
        front = (*place[:2], behind.get(place[2], place[2]))
        cell = cells.setdefault((_along(front, down), _along(front, across)), {})
        if other := cell.get(place[2] in behind):
            raise FairflError(
                f"two rows are called {place[1].label!r}; give them a `title` each ({place[0]}: {other[2]})"
            )
        cell[place[2] in behind] = place
    lines, columns = ordered(down), ordered(across)
    ruled = {rows.index(row) for row in rows if row.ruled}
    rules = {
        number
        for number, line in enumerate(lines)
        if (number and len(down) > 1 and line[0] != lines[number - 1][0])
        or ("row" in down and any(rows.index(p[1]) in ruled for p in fronts if _along(p, down) == line))
    }
    return Grid(
        down=down,
        columns=[_heads(column, across, fronts, rows) for column in columns],
        lines=[_heads(line, down, fronts, rows) for line in lines],
        places=[
            [(found[False], found.get(True)) if (found := cells.get((line, column))) else None for column in columns]
            for line in lines
        ],
        rules=rules,
    )


def _along(place: Place, axes: list[Axis]) -> tuple[str, ...]:
    return tuple(key_of(place, axis) for axis in axes)


def _heads(keys: tuple[str, ...], axes: list[Axis], places: list[Place], rows: list[Row]) -> tuple[Head, ...]:
    """The heads of a line or column; each knows the rows of the numbers that lie in it and in the heads before it."""
    heads = []
    for n, (axis, key) in enumerate(zip(axes, keys, strict=True)):
        inside = {place[1] for place in places if _along(place, axes[: n + 1]) == keys[: n + 1]}
        heads.append(Head(axis, key, tuple(sorted(inside, key=rows.index))))
    return tuple(heads)


def spans(columns: Sequence[tuple[Level, ...]]) -> list[list[tuple[Level, int]]]:
    """Lines of a header: what stands above how many columns. Equal neighbours are one, but in the last line."""
    depth = len(columns[0]) if columns else 0
    lines: list[list[tuple[Level, int]]] = []
    for level in range(depth):
        line: list[tuple[Level, int]] = []
        for number, column in enumerate(columns):
            if number and level < depth - 1 and columns[number - 1][: level + 1] == column[: level + 1]:
                line[-1] = (column[level], line[-1][1] + 1)
            else:
                line.append((column[level], 1))
        lines.append(line)
    return lines


def title(metric: Metric) -> str:
    """'accuracy ↑'."""
    return metric.name + ARROWS[metric.direction]
