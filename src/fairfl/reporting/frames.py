"""Frames that plots share: a panel for each setting or metric, lines with names, a map of numbers."""

from collections.abc import Callable, Hashable, Mapping, Sequence, Sized
from itertools import product
from typing import Any, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs

Key = TypeVar("Key", bound=Hashable)
Drawn = TypeVar("Drawn", bound=Sized)


def panelled(
    titles: Mapping[Key, str],
    draw_one: Callable[[Axes, Key], Drawn],
    heights: tuple[float, float],
    across: int,
    labels: tuple[str, str],
    wide: bool = False,
    **shared: Any,
) -> tuple[Figure, list[Drawn]]:
    """(figure, what was drawn) with a panel for each of `titles`, `across` side by side.

    `draw_one` fills a panel; what it leaves without a mark says "not run". `heights` in inches: of what is not a panel
    and of a line of them. `labels` of the horizontal and vertical axis stand at the outer panels.
    """
    across = min(across, len(titles))
    figure = style.canvas(
        style.PAGE if wide or across > 1 else style.COLUMN,
        heights[0] + heights[1] * -(-len(titles) // across),
    )
    panels = style.panels(figure, len(titles), across, **shared)
    drawn = []
    for axes, (key, title) in zip(panels.flat, titles.items(), strict=False):
        axes.set_title(title)
        drawn.append(draw_one(axes, key))
        if not len(drawn[-1]):
            style.not_run(axes)
    for axes in panels.flat[max(0, len(titles) - across) : len(titles)]:
        axes.set_xlabel(labels[0])
    for axes in panels[:, 0] if labels[1] else ():
        axes.set_ylabel(labels[1])
    return figure, drawn


def metric_grid(
    inputs: Inputs,
    titles: Mapping[Key, str],
    draw_one: Callable[[Axes, Key, str], Drawn],
    heights: tuple[float, float],
    x_label: str,
    y_labels: Mapping[str, str] = {},
    turned: bool = False,
    wide: bool = False,
    **shared: Any,
) -> tuple[Figure, list[Drawn]]:
    """As `panelled`, of each metric of the artifact (a line) and each of `titles` (a column), or `turned`.

    `draw_one` fills the panel of a key and a metric; `y_labels` name a metric otherwise.
    """
    metrics, first = inputs.spec.artifact.columns, next(iter(titles))
    cells = list(product(titles, metrics))
    if not turned:
        cells.sort(key=lambda cell: metrics.index(cell[1]))

    def draw(axes: Axes, cell: tuple[Key, str]) -> Drawn:
        key, metric = cell
        if turned or key == first:
            axes.set_ylabel(y_labels.get(metric) or inputs.axis(metric))
        return draw_one(axes, key, metric)

    titled = {
        (key, metric): titles[key] if turned or metric == metrics[0] else ""
        for key, metric in cells
    }
    shown = titled if len(titles) > 1 else dict.fromkeys(cells, "")
    across = len(metrics) if turned else len(titles)
    return panelled(shown, draw, heights, across, (x_label, ""), wide, **shared)


def named_lines(axes: Axes, names: Sequence[str]) -> None:
    """A vertical axis of names, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
