"""Two metrics against each other, one panel per setting and one mark per row: what fairness costs.

A mark is the mean over seeds, its bars ± one population standard deviation. Colour is the algorithm; so is the shape,
unless rows have their own. Hollow marks are the paper's
numbers, drawn if nothing but the seeds differs from its setting and they are at hand. Both metrics are columns of the
artifact, in the units that the paper prints.
"""

import math
from itertools import product
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field

from fairfl.experiments.base import Labelled
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, ShownRow, mean_and_std
from fairfl.reporting.panels import panels, paper_entry

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
    measured, has_own = inputs.measured(), config.by == "row"
    ran, look_of = {row.algorithm for row in measured}, style.looks(inputs)
    lines: dict[ShownRow, str] = {}
    looks: dict[str, style.Look] = {}
    for row in inputs.rows:
        if row in measured if has_own else row.algorithm in ran:
            lines[row] = row.label if has_own else inputs.spec.algorithms[row.algorithm]
            size = 4.2 if len(inputs.rows) > 10 else 5
            looks.setdefault(lines[row], look_of[row] | {"linestyle": "none", "markersize": size})
    marks = _marks(inputs, config, lines)

    def draw_panel(axes: Axes, numbers: pd.DataFrame) -> None:
        for (line, kind), points in numbers.groupby(["line", "kind"], sort=False):
            look = looks[line] | (style.HOLLOW if kind == "paper" else {})
            axes.errorbar("x", "y", "y_std", "x_std", data=points, elinewidth=0.7, **look)
        axes.margins(0.12)

    order = list(inputs.titles)
    shared = {"col_order": order, "col_wrap": min(2, len(order)), "sharex": False, "sharey": False}
    grid = panels(marks, draw_panel, inputs.titles, 1.9, col="setting", **shared)
    grid.set_axis_labels(inputs.axis(config.x), inputs.axis(config.y))
    style.legend_above(grid.figure, {**looks, **paper_entry(marks)})
    for setting, text in config.missing.items():
        where = inputs.names.get(setting, setting)
        inputs.remark("Not in the paper's panels", [f"{text} ({where})"])
    if marks["seeds"].max() > 1:
        inputs.say_bars(marks["seeds"])
    return grid.figure, marks[COLUMNS]


def _marks(inputs: Inputs, config: Config, lines: dict[ShownRow, str]) -> pd.DataFrame:
    """COLUMNS and line of our marks and the paper's, where there are such."""
    records: list[dict[str, Any]] = []
    for setting, (row, line) in product(inputs.settings, lines.items()):
        if row not in inputs.rows_in(setting):
            continue
        names = {**row.names(setting), "line": line}
        x, y = (inputs.cell(setting, row, metric) for metric in (config.x, config.y))
        if any(cell and math.isnan(mean_and_std(cell)[0]) for cell in (x, y)):
            inputs.remark("Diverged, not drawn", [f"{row.label} ({inputs.names[setting]})"])
        elif x and y:
            numbers = (*mean_and_std(x), *mean_and_std(y), y.seeds)
            records.append(
                {**names, "kind": "ours", **dict(zip(COLUMNS[4:], numbers, strict=True))}
            )
        at = [inputs.reported_point(setting, row, metric) for metric in (config.x, config.y)]
        if None not in at:
            records.append({**names, "kind": "paper", "x": at[0], "y": at[1]})
    return pd.DataFrame(records, columns=[*COLUMNS, "line"])
