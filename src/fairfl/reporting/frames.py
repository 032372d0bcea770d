"""Frames that plots share: a panel for each setting, lines with names, a map of numbers, what ranks methods."""

from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from fairfl.reporting import style

Key = TypeVar("Key")
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
        style.PAGE if wide or across > 1 else style.COLUMN, heights[0] + heights[1] * -(-len(titles) // across)
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


def named_lines(axes: Axes, names: Mapping[int, str] | Sequence[str]) -> None:
    """A vertical axis of names, the first on top; `names` of all lines, or by line."""
    lines = names if isinstance(names, Mapping) else dict(enumerate(names))
    axes.set_yticks(list(lines), list(lines.values()))
    axes.set_ylim(max(lines, default=0) + 0.6, -0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def number_map(
    axes: Axes,
    numbers: np.ndarray,
    names: tuple[Sequence[str], Sequence[str]],
    write: Callable[..., dict],
    **given: Any,
) -> AxesImage:
    """Numbers [lines, columns] as coloured cells with their text; `names` of lines and columns.

    `write(line, column)` gives a text's looks.
    """
    image = axes.imshow(numbers, aspect="auto", **given)
    for (down, across), number in np.ndenumerate(numbers):
        if not np.isnan(number):
            axes.text(across, down, **({"ha": "center", "va": "center"} | write(down, across)))
    axes.set_xticks(range(len(names[1])), names[1], rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names[0])), names[0])
    axes.grid(visible=False)
    axes.tick_params(length=0)
    return image
