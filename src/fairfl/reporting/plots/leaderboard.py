"""Leaderboards over all settings of the artifact: one by utility, one by fairness, the best method on top.

A black mark is a method's average rank over settings, its bar the 95 % bootstrap interval over seeds, which are drawn
anew within each setting, the same for all methods. Small marks are the ranks in single settings, the shape says which;
equal ones stand beside each other. A method that diverged is last. Below the rule stand methods of a class of
their own, ranked among themselves.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Labelled, Names
from fairfl.reporting import style
from fairfl.reporting.frames import named_lines
from fairfl.reporting.inputs import Inputs
from fairfl.reporting.notes import seeds_text
from fairfl.reporting.ranked import COLUMNS, Ranked, ranked, ranked_by, split

NEEDS = ("tidy",)
DRAWS_COLUMNS = True


class Config(Labelled):
    utility: Names = Field(
        min_length=1,
        description="metric ids: in each setting the first that is a column there ranks",
    )
    fairness: Names = Field(min_length=1, description="the same for the other panel")
    apart: Names = Field(
        default_factory=list, description="algorithms or variants that are ranked among themselves"
    )

    def columns(self) -> list[str]:
        return [*self.utility, *self.fairness]

    def rows(self) -> list[str]:
        return self.apart


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    classes = dict(zip(("together", "apart"), split(inputs, config.apart), strict=True))
    colors = style.class_map(len(inputs.titles))
    looks: dict[str, style.Look] = {
        setting: {"marker": style.marker(at), "color": colors(at)}
        for at, setting in enumerate(inputs.titles)
    }
    lines = sum(map(len, classes.values())) + bool(classes["apart"])
    figure = style.canvas(style.PAGE, 1.1 + 0.185 * lines)
    frames = [pd.DataFrame(columns=COLUMNS)]
    for axes, panel in zip(figure.subplots(1, 2), ("utility", "fairness"), strict=True):
        ticks: dict[int, str] = {}
        used: dict[str, str] = {}
        for kind, rows in classes.items():
            if (group := ranked(inputs, rows, getattr(config, panel))) is None:
                continue
            if at := len(ticks):
                axes.axhline(at, color=style.GREY, linewidth=0.7)
                at += 1
            _draw(axes, group, at, looks)
            ticks |= {at + number: row.label for number, row in enumerate(group.rows)}
            used |= group.metrics
            frames.append(group.frame().assign(panel=panel, ranked=kind))
        axes.set_title(panel.capitalize())
        named_lines(axes, ticks)
        axes.locator_params(axis="x", integer=True)
        if used:
            axes.set_xlabel(ranked_by(inputs, used))
        else:
            style.not_run(axes)
    frame = pd.concat(frames[1:] or frames, ignore_index=True)
    shown = [setting for setting in inputs.titles if setting in set(frame["setting"])]
    keys = [
        style.key(label=inputs.titles[s], linestyle="none", markersize=3.5, **looks[s])
        for s in shown
    ]
    style.legend_above(figure, [*keys, style.key("black", "average", marker="|", markersize=7)], 3)
    if frame["low"].notna().any():
        inputs.say(f"Bar: 95% bootstrap interval of the average over {seeds_text(frame['seeds'])}.")
    return figure, frame


def _draw(axes: Axes, group: Ranked, top: int, looks: dict[str, style.Look]) -> None:
    heights = top + np.arange(len(group.rows))
    for at, setting in enumerate(group.metrics):
        before = (group.places[:at] == group.places[at]).sum(axis=0)
        equal = (group.places == group.places[at]).sum(axis=0)
        offset = (before - (equal - 1) / 2) * 0.8 / equal
        axes.plot(
            group.places[at],
            heights + offset,
            **looks[setting],
            linestyle="none",
            markersize=2.6,
            alpha=0.8,
        )
    axes.hlines(heights, group.low, group.high, color="black", linewidth=1.3, zorder=1)
    axes.plot(
        group.average, heights, "|", color="black", markersize=7, markeredgewidth=1.4, zorder=4
    )
