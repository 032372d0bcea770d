"""Demšar's critical-difference diagram: methods on the axis of their average ranks over settings, the best on the left.

Bars join methods whose average ranks are nearer than Nemenyi's critical difference at the 5 % level, drawn to scale
above the axis: these settings do not tell them apart. Friedman's test, in Iman and Davenport's form, says whether any
differ.
"""

import seaborn
from pydantic import Field

from fairfl.experiments.base import Labelled, Names
from fairfl.judgement.ranks import critical_difference, friedman, not_told_apart
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs
from fairfl.reporting.ranked import ranked, ranked_by

NEEDS = ("tidy",)
DRAWS_COLUMNS = True
LINE = 0.17  # inches from label to label


class Config(Labelled):
    metrics: Names = Field(
        min_length=1,
        description="metric ids: in each setting the first that is a column there ranks",
    )
    apart: Names = Field(
        default_factory=list,
        description="algorithms or variants that are left out, a class of their own",
    )

    def columns(self) -> list[str]:
        return self.metrics

    def rows(self) -> list[str]:
        return self.apart


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    group = ranked(inputs, config.metrics, config.apart)
    settings, methods = group.places.shape
    frame = group.frame().assign(cd=float("nan"), p=float("nan"))
    difference, bars = 0.0, []
    if settings < 2 or methods < 3:
        inputs.say(
            f"No critical difference: {settings} settings and {methods} methods, it needs two and three."
        )
    else:
        test, difference = friedman(group.places), critical_difference(settings, methods)
        bars = not_told_apart(list(group.average), difference)
        frame = frame.assign(cd=difference, p=test.p)
        inputs.say(
            f"Friedman: p = {test.p:.2g} (F = {test.f:.2f}, {settings} settings, {methods} methods). "
            f"Bars: not distinguished at 5%, by Nemenyi's critical difference."
        )
    half = (methods + 1) // 2
    depth = 1.2 + 0.5 * len(bars)  # of the highest label, in lines
    end = max(methods, 1 + difference)
    figure = style.canvas(style.PAGE, 0.75 + LINE * (depth + half + 1))
    axes = figure.subplots()
    axes.set(xlim=(1, end), ylim=(depth + half + 0.5, 0), yticks=[])
    axes.set_xlabel(f"average {ranked_by(inputs, group.metrics)}")
    axes.tick_params(axis="x", top=True, bottom=False, labeltop=True, labelbottom=False)
    axes.set_xticks(range(1, methods + 1, 2 if methods > 9 else 1))
    seaborn.despine(ax=axes, top=False, left=True, bottom=True)
    axes.grid(visible=False)
    # The better half is named on the left, the best on top, the others on the right, the worst on top.
    for number, (row, rank) in enumerate(zip(group.rows, group.average, strict=True)):
        is_left = number < half
        height = depth + 1 + (number if is_left else methods - 1 - number)
        edge = 1.0 if is_left else end
        axes.plot([rank, rank, edge], [0, height, height], color=style.GREY, linewidth=0.7)
        text = f"{row.label}  {rank:.1f}" if is_left else f"{rank:.1f}  {row.label}"
        away, side = (-3, "right") if is_left else (3, "left")
        style.write(axes, text, (edge, height), (away, 0), ha=side)
    axes.plot(group.average, [0] * methods, "o", color="black", markersize=2.5, clip_on=False)
    for level, (first, last) in enumerate(bars, 1):
        axes.plot(group.average[[first, last]], [0.5 * level] * 2, color="black", linewidth=2.5)
    if difference:
        axes.plot(
            [1, 1 + difference], [-2.1, -2.1], color="black", marker="|", linewidth=1, clip_on=False
        )
        style.write(axes, f"CD = {difference:.2f}", (1, -2.1), (0, 3), ha="left", va="bottom")
    return figure, frame
