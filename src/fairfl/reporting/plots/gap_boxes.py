"""Distribution of a per-client metric (by default the loss gap) over all clients, one box per algorithm.

Points are clients of single runs, pooled over seeds and spread in the order of the clients; boxes span the
quartiles, whiskers reach to the farthest point within 1.5 box lengths, the thick line is the median.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field

from fairfl.experiments.base import Labelled
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.panels import panels

NEEDS = ("tidy",)
COLUMNS = ["setting", "algorithm", "hyperparameters", "seed", "client", "metric", "value", "unit"]


class Config(Labelled):
    family: str = Field("gap_client", description="metrics <family>_0, <family>_1, ... are drawn")

    def metrics(self) -> list[str]:
        return [f"{self.family}_0"]


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    rows, looks = inputs.measured(), style.looks(inputs)
    colors = {row.label: looks[row]["color"] for row in rows}
    names = list(colors)
    points = [_of_clients(inputs, s, row, config.family) for s in inputs.settings for row in rows]
    frame = pd.concat(filter(len, points), ignore_index=True)
    most = max(frame["client"].max(), 1)

    def draw_panel(axes: Axes, numbers: pd.DataFrame) -> None:
        values = [numbers["value"][numbers["line"] == name] for name in names]
        axes.boxplot(
            values,
            orientation="horizontal",
            showfliers=False,
            positions=range(len(names)),
            tick_labels=names,
            widths=0.62,
        )
        at = numbers["line"].map(names.index) + (numbers["client"] / most - 0.5) * 0.4
        axes.scatter(numbers["value"], at, s=6, c=numbers["line"].map(colors), zorder=3)
        axes.axvline(0, **style.ZERO)
        axes.locator_params(axis="x", nbins=6)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)

    titles = inputs.titles if len(inputs.titles) > 1 or config.labels else {}
    finite = frame[np.isfinite(frame["value"])]
    grid = panels(
        finite,
        draw_panel,
        titles,
        0.27 * len(names),
        col="setting",
        col_order=inputs.settings,
        sharex=False,
    )
    grid.set_axis_labels("loss gap of a client (nats)", "")
    return grid.figure, frame[COLUMNS]


def _of_clients(inputs: Inputs, setting: str, row: ShownRow, family: str) -> pd.DataFrame:
    """COLUMNS and line of a row's clients, seed by seed."""
    records = []
    for metric in inputs.ours.members(setting, f"{family}_k"):
        cell = inputs.cell(setting, row, metric)
        if cell and row in inputs.rows_in(setting):
            point = {"client": int(metric.rpartition("_")[2]), "metric": metric, "unit": cell.unit}
            names = {**row.names(setting), **point, "line": row.label}
            records += [{**names, "seed": s, "value": v} for s, v in cell.by_seed.items()]
    frame = pd.DataFrame(records, columns=[*COLUMNS, "line"]).sort_values(["seed", "client"])
    lost = len(frame) - int(np.isfinite(frame["value"].astype(float)).sum())
    if lost:
        inputs.remark("Diverged, not drawn", [f"{row.label} ({lost} of {len(frame)} points)"])
    return frame
