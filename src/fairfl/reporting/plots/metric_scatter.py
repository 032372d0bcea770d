"""Two metrics against each other, one panel per setting and one mark per row: what fairness costs.

A mark is the mean over seeds, its bars ± one population standard deviation. Colour is the algorithm; so is the shape,
unless rows have their own. Hollow marks are the paper's
numbers, drawn if nothing but the seeds differs from its setting and they are at hand. Both metrics are columns of the
artifact, in the units that the paper prints.
"""

import math
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Labelled
from fairfl.reporting import style
from fairfl.reporting.frames import panelled
from fairfl.reporting.inputs import Inputs, ShownRow, mean_and_std

NEEDS = ("tidy", "reported")
DRAWS_COLUMNS = True
COLUMNS = ["kind", "setting", "algorithm", "hyperparameters", "x", "x_std", "y", "y_std", "seeds"]


class Config(Labelled):
    x: str = Field(description="metric id of the horizontal axis, a column of the artifact")
    y: str = Field(description="metric id of the vertical axis, a column of the artifact")
    by: Literal["algorithm", "row"] = Field(
        "algorithm",
        description="what has its own shape and legend entry; row: tells an algorithm's rows apart",
    )
    missing: dict[str, str] = Field(
        default_factory=dict,
        description="setting id -> what the paper does not show there and why: 'AFL, which diverged'",
    )

    def columns(self) -> list[str]:
        return [self.x, self.y]


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    x, y = (inputs.axis(metric) for metric in (config.x, config.y))
    units = [inputs.spec.metrics[metric].unit for metric in (config.x, config.y)]
    looks = _looks(inputs, config)
    legend = dict(looks.values())
    wide = len(inputs.titles) > 1 or len(legend) > 6

    def draw_one(axes: Axes, setting: str) -> list[dict[str, Any]]:
        axes.margins(0.12)
        here = [row for row in inputs.rows_in(setting) if row in looks]
        marks = [
            mark
            for row in here
            for mark in _marks(axes, inputs, config, setting, row, looks[row][1])
        ]
        style.within_bounds(axes, *units)
        return marks

    figure, panels = panelled(inputs.titles, draw_one, (0.9, 1.9), 2, (x, y), wide)
    for setting, text in config.missing.items():
        where = inputs.names.get(setting, setting)
        inputs.remark("Not in the paper's panels", [f"{text} ({where})"])
    marks = [mark for marks in panels for mark in marks]
    frame = pd.DataFrame(marks, columns=COLUMNS)
    if "paper" in set(frame["kind"]):
        legend["the paper's"] = {"color": style.GREY, "marker": "o", "markersize": 5} | style.HOLLOW
    handles = [style.key(label=label, linestyle="none", **look) for label, look in legend.items()]
    most = (5 if config.by == "algorithm" else 4) if wide else 3
    style.legend_above(figure, handles, min(len(handles), most))
    if frame["seeds"].max() > 1:
        inputs.say_bars(frame["seeds"])
    return figure, frame


def _looks(inputs: Inputs, config: Config) -> dict[ShownRow, tuple[str, style.Look]]:
    """What the legend calls a row, with colour and shape: those of its algorithm's first row, or its own."""
    shown, first = inputs.measured(), {row.algorithm: row for row in reversed(inputs.rows)}
    ran, own = {row.algorithm for row in shown}, config.by == "row"
    known, looks = style.looks(inputs), {}
    for row in inputs.rows:
        if row in shown or (not own and row.algorithm in ran):
            look = known[row if own else first[row.algorithm]]
            size = {"markersize": 4.2 if len(inputs.rows) > 10 else 5}
            label = row.label if own else inputs.spec.algorithms[row.algorithm]
            looks[row] = label, {"color": look["color"], "marker": look["marker"]} | size
    return looks


def _marks(
    axes: Axes, inputs: Inputs, config: Config, setting: str, row: ShownRow, look: style.Look
) -> list[dict[str, Any]]:
    """Our mark and the paper's of a row, drawn where there are such."""
    records, names = [], row.names(setting)
    x, y = (inputs.cell(setting, row, metric) for metric in (config.x, config.y))
    if any(cell and math.isnan(mean_and_std(cell)[0]) for cell in (x, y)):
        inputs.remark("Diverged, not drawn", [f"{row.label} ({inputs.names[setting]})"])
    elif x and y:
        mark = dict(zip(COLUMNS[4:], (*mean_and_std(x), *mean_and_std(y), y.seeds), strict=True))
        bars: style.Look = {
            "xerr": mark["x_std"],
            "yerr": mark["y_std"],
            "elinewidth": 0.7,
            "capsize": 1.5,
        }
        bars = bars if y.seeds > 1 else {}
        axes.errorbar(
            mark["x"], mark["y"], **bars, **look, linestyle="none", zorder=3, clip_on=False
        )
        records.append({**names, **mark, "kind": "ours"})
    at: list[Any] = [inputs.reported_point(setting, row, metric) for metric in (config.x, config.y)]
    if None not in at:
        axes.plot(*at, **look, **style.HOLLOW, linestyle="none", zorder=2)
        records.append({**names, "x": at[0], "y": at[1], "kind": "paper"})
    return records
