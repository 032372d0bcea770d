"""Demšar's critical-difference diagram: methods on the axis of their average ranks over settings, the best on the left.

Bars join methods whose average ranks are nearer than Nemenyi's critical difference at the 5 % level, drawn to scale
above the axis: these settings do not tell them apart. Friedman's test, in Iman and Davenport's form, says whether any
differ.
"""

from typing import Annotated

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import DISTINCT, Strict
from fairfl.judgement.ranks import critical_difference, friedman, not_told_apart
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, NothingRun
from fairfl.reporting.ranked import Ranked, ranked, ranked_by, split

NEEDS = ("tidy",)
DRAWS_COLUMNS = True
LINE = 0.17  # inches from label to label


class Config(Strict):
    metrics: Annotated[list[str], DISTINCT] = Field(
        min_length=1, description="metric ids: in each setting the first that is a column there ranks"
    )
    apart: Annotated[list[str], DISTINCT] = Field(
        default_factory=list, description="algorithms or variants that are left out, a class of their own"
    )
    labels: dict[str, str] = Field(default_factory=dict, description="setting id -> its name in the notes")

    def columns(self) -> list[str]:
        return self.metrics

    def rows(self) -> list[str]:
        return self.apart


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    together, _ = split(inputs, config.apart)
    group = ranked(inputs, together, config.metrics, config.labels)
    if group is None:
        raise NothingRun("No setting in which all methods were run.")
    settings, methods = group.places.shape
    frame = group.frame().assign(cd=float("nan"), p=float("nan"))
    difference, bars = None, []
    if settings < 2 or methods < 3:
        inputs.say(f"Settings: {settings}, methods: {methods}; a critical difference needs two and three.")
    else:
        test, difference = friedman(group.places), critical_difference(settings, methods)
        bars = _levels(not_told_apart(list(group.average), difference))
        frame = frame.assign(cd=difference, p=test.p)
        inputs.say(
            f"Friedman: p = {test.p:.2g} (F = {test.f:.2f}, {settings} settings, {methods} methods). "
            f"Bars: not told apart at 5%, by Nemenyi's critical difference."
        )
    lines = 1.2 + 0.5 * max((level for *_, level in bars), default=0) + -(-methods // 2)
    figure = style.canvas(style.PAGE, 0.75 + LINE * (lines + 1))
    _draw(figure.subplots(), group, bars, difference, lines, ranked_by(inputs, group.metrics, config.labels))
    return figure, frame


def _levels(groups: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(first, last, level) of bars, so that those of a level do not touch."""
    ends: list[int] = []
    placed = []
    for first, last in groups:
        level = next((at for at, end in enumerate(ends) if end < first), len(ends))
        ends[level : level + 1] = [last]
        placed.append((first, last, level + 1))
    return placed


def _draw(
    axes: Axes,
    group: Ranked,
    bars: list[tuple[int, int, int]],
    difference: float | None,
    lines: float,
    title: str,
) -> None:
    average, methods = group.average, len(group.rows)
    half = -(-methods // 2)
    for number, (row, rank) in enumerate(zip(group.rows, average, strict=True)):
        left = number < half
        height = lines - half + 1 + (number if left else methods - 1 - number)
        end = 1 - 0.02 * methods if left else methods + 0.02 * methods
        axes.plot([rank, rank, end], [0, height, height], color=style.GREY, linewidth=0.7)
        text = f"{row.label}  {rank:.1f}" if left else f"{rank:.1f}  {row.label}"
        beside = {"textcoords": "offset points", "va": "center", "ha": "right" if left else "left"}
        axes.annotate(text, (end, height), xytext=(-3 if left else 3, 0), fontsize=7, annotation_clip=False, **beside)
    axes.plot(average, [0] * methods, "o", color="black", markersize=2.5, clip_on=False, zorder=3)
    for first, last, level in bars:
        axes.plot([average[first], average[last]], [0.5 * level] * 2, color="black", linewidth=2.5)
    if difference is not None:
        axes.plot([1, 1 + difference], [-2.1, -2.1], color="black", marker="|", linewidth=1, clip_on=False)
        axes.annotate(f"CD = {difference:.2f}", (1 + difference, -2.1), xytext=(5, 0), fontsize=7, va="center",
                      textcoords="offset points", annotation_clip=False)  # fmt: skip
    axes.set(xlim=(1, methods), ylim=(lines + 0.5, 0), yticks=[])
    axes.set_xlabel(f"average {title}", loc="right")
    axes.xaxis.set_label_position("top")
    axes.xaxis.tick_top()
    axes.locator_params(axis="x", integer=True)
    axes.spines[:].set_visible(False)
    axes.spines["top"].set_visible(True)
    axes.grid(visible=False)
