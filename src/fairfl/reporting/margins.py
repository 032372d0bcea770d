"""What surrounds the panels of a figure: lines above and below, the layout."""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import Bbox

from fairfl.reporting.style import FOOTNOTE, GREY


def footer(figure: Figure, sentences: Sequence[str], head: str = "", rest: str = "") -> float:
    """Small grey lines below the panels, and bold ones above them for which the figure grows.

    Of the sentences below as many are printed as FOOTNOTE lines hold; the last one then says in which file the `rest`
    stands. Returns where the bold ones end, as a share of the height.
    """
    above = textwrap.wrap(head, width=int(figure.get_figwidth() * 17), break_on_hyphens=False)
    lines = _fitting(sentences, int(figure.get_figwidth() * 21.5), rest)
    room = 0.12 * len(above) + 0.06 * bool(above)  # inches
    height = figure.get_figheight() + room
    figure.set_figheight(height)
    share = (0.104 * len(lines) + 0.06) / height
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)  # that of `canvas`
    engine.set(rect=(0, share, 1, 1 - share - room / height))
    figure.text(
        0.01,
        1 - 0.04 / height,
        "\n".join(above),
        fontsize=7,
        fontweight="bold",
        va="top",
        linespacing=1.1,
    )
    figure.text(
        0.01, 0.03 / height, "\n".join(lines), fontsize=6, color=GREY, va="bottom", linespacing=1.15
    )
    return 1 - room / height


def _fitting(sentences: Sequence[str], width: int, rest: str) -> list[str]:
    """The lines of as many of the sentences as fit, with where the others stand."""
    for kept in range(len(sentences), 0, -1):
        shown = [*sentences[:kept], *[f"More: {rest}."] * (kept < len(sentences))]
        lines = textwrap.wrap(" ".join(shown), width=width, break_on_hyphens=False)
        if len(lines) <= FOOTNOTE:
            return lines
    return lines[:FOOTNOTE] if sentences else []


def lay_out(figure: Figure, top: float) -> None:
    """Lay out before drawing, so that PDF and PNG have the same layout; legends begin at `top`.

    Twice: what lies outside of its panel moves with the panel's size, which the first time is not yet the last.

    The engine leaves room for legends above all panels, but only while nobody says where they are. The last bits of
    what it finds depend on addresses in memory: a grid of a millionth of the figure makes equal bytes of equal inputs.
    """
    if figure.axes and (engine := figure.get_layout_engine()):
        for _ in range(2):
            engine.execute(figure)
    figure.set_layout_engine(None)
    for axes in figure.axes:
        axes.set_position(Bbox(np.round(axes.get_position().get_points(), 6)))
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0, 0, 1, top))
