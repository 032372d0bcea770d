"""Two metrics against each other, one panel per setting and one mark per row: what fairness costs.

A mark is the mean over seeds, its bars ± one population standard deviation. Colour is the algorithm; so is the shape,
unless rows have their own. Hollow marks are the paper's
numbers, drawn if nothing but the seeds differs from its setting and they are at hand. Both metrics are columns of the
artifact, in the units that the paper prints.
"""

from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field

from fairfl.experiments.base import Labelled
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs
from fairfl.reporting.panels import POINTS, lines_of, panels, paper_entry, points_of

NEEDS = ("tidy", "reported")
DRAWS_COLUMNS = True
COLUMNS = ["kind", "setting", "algorithm", "hyperparameters", "x", "x_std", "y", "y_std", "seeds"]


class Config(Labelled):
    x: str = Field(description="metric id of the horizontal axis, a column of the artifact")
    y: str = Field(description="metric id of the vertical axis, a column of the artifact")
    by: Literal["algorithm", "row"] = Field(
        "algorithm",
        description="what has its own shape and legend entry; row: each of an algorithm's rows",
    )
    missing: dict[str, str] = Field(
        default_factory=dict,
        description="setting id -> what the paper does not show there and why: 'AFL, which diverged'",
    )

    def columns(self) -> list[str]:
        return [self.x, self.y]


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    size = 4.2 if len(inputs.rows) > 10 else 5
    lines, looks = lines_of(inputs, config.by, linestyle="none", markersize=size)
    points, keys = points_of(inputs, (config.x, config.y), lines), POINTS[:6]
    across, up = (points[points["metric"] == name] for name in (config.x, config.y))
    columns = {"mean_x": "x", "std_x": "x_std", "mean_y": "y", "std_y": "y_std", "seeds_y": "seeds"}
    marks = across.merge(up, on=keys).rename(columns=columns).dropna(subset=["x", "y"])

    def draw_panel(axes: Axes, numbers: pd.DataFrame) -> None:
        for (line, kind), points in numbers.groupby(["line", "kind"], sort=False):
            look = looks[line] | (style.HOLLOW if kind == "paper" else {})
            axes.errorbar("x", "y", "y_std", "x_std", data=points, elinewidth=0.7, **look)
        axes.margins(0.12)

    order = list(inputs.titles)
    grid = panels(
        marks,
        draw_panel,
        inputs.titles,
        1.9,
        col="setting",
        col_order=order,
        col_wrap=min(2, len(order)),
        sharex=False,
        sharey=False,
    )
    grid.set_axis_labels(inputs.axis(config.x), inputs.axis(config.y))
    style.legend_above(grid.figure, {**looks, **paper_entry(marks, linestyle="none")})
    for setting, text in config.missing.items():
        inputs.remark(
            "Not in the paper's panels", [f"{text} ({inputs.names.get(setting, setting)})"]
        )
    if marks["seeds"].max() > 1:
        inputs.say_bars(marks["seeds"])
    return grid.figure, marks[COLUMNS]
