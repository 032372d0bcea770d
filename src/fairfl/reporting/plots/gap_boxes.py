"""Distribution of a per-client metric (by default the loss gap) over all clients, one box per algorithm.

Points are clients of single runs, pooled over seeds and spread in the order of the clients; boxes span the
quartiles, whiskers reach to the farthest point within 1.5 box lengths, the thick line is the median.
"""

import warnings

import matplotlib
import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.frames import named_lines
from fairfl.reporting.inputs import Inputs, Row
from fairfl.runtime.errors import FairflError

NEEDS = ("tidy",)
COLUMNS = ("setting", "algorithm", "hyperparameters", "seed", "client", "metric", "value", "unit")


class Config(Strict):
    family: str = Field("gap_client", description="metrics <family>_0, <family>_1, ... are drawn")
    x_label: str = Field("loss gap of a client (nats)", description="title of the value axis")
    labels: dict[str, str] = Field(default_factory=dict, description="setting id -> title of its panel")

    def metrics(self) -> list[str]:
        return [f"{self.family}_0"]


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    rows = inputs.measured()
    points = {
        (setting, row): of_clients(inputs, setting, row, config.family) for setting in inputs.settings for row in rows
    }
    if all(frame.empty for frame in points.values()):
        raise FairflError(f"{inputs.where}: the results have no metric {config.family}_0")
    names = inputs.panel_titles(config.labels)
    width = style.COLUMN if len(names) == 1 else style.PAGE
    figure = style.canvas(width, 0.75 + 0.27 * len(rows))
    panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    looks = style.algorithm_looks(inputs.spec.algorithms)
    drawn = []
    for axes, (setting, name) in zip(panels, names.items(), strict=True):
        for at, row in enumerate(rows):
            _box(axes, at, points[setting, row], row, looks[row.algorithm][0], inputs)
            drawn.append(points[setting, row])
        if all(points[setting, row].empty for row in rows):
            style.not_run(axes)
        named_lines(axes, [row.label for row in rows])
        axes.set_xlabel(config.x_label)
        axes.locator_params(axis="x", nbins=6)
        style.zero_line(axes, vertical=True)
        if len(names) > 1 or config.labels:
            axes.set_title(name)
    return figure, pd.concat(filter(len, drawn), ignore_index=True)[list(COLUMNS)]


def of_clients(inputs: Inputs, setting: str, row: Row, family: str) -> pd.DataFrame:
    """COLUMNS of a row's clients, seed by seed."""
    records = []
    for metric in inputs.ours.members(setting, f"{family}_k") if row in inputs.rows_in(setting) else ():
        if cell := inputs.cell(setting, row, metric):
            point = {"client": int(metric.rpartition("_")[2]), "metric": metric, "unit": cell.unit}
            records += [{**row.names(setting), **point, "seed": s, "value": v} for s, v in cell.by_seed.items()]
    return pd.DataFrame(records, columns=list(COLUMNS)).sort_values(["seed", "client"])


def _box(axes: Axes, at: int, points: pd.DataFrame, row: Row, color: str, inputs: Inputs) -> None:
    values = points["value"].to_numpy(float)
    good = np.isfinite(values)
    if not good.all():
        inputs.remark("Diverged, not drawn", [f"{row.label} ({(~good).sum()} of {len(good)} points)"])
    if not good.any():
        return
    with warnings.catch_warnings():  # seaborn 0.13 still says `vert`, which matplotlib 3.13 will not know
        warnings.simplefilter("ignore", matplotlib.MatplotlibDeprecationWarning)
        seaborn.boxplot(
            x=values[good], y=np.full(good.sum(), at), orient="h", native_scale=True, width=0.62, showfliers=False,
            boxprops={"facecolor": color, "alpha": 0.35, "edgecolor": color, "linewidth": 0.8},
            medianprops={"color": color, "linewidth": 1.8},
            whiskerprops={"color": color, "linewidth": 0.9}, capprops={"color": color, "linewidth": 0.9}, ax=axes,
        )  # fmt: skip
    clients = points["client"].to_numpy(int)
    offset = (clients - clients.max() / 2) / max(clients.max(), 1) * 0.4
    axes.scatter(values[good], at + offset[good], s=5, color=color, alpha=0.75, linewidths=0, zorder=3)
