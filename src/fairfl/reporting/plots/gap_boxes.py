"""Distribution of a per-client metric (by default the loss gap) over all clients, one box per algorithm.

Points are clients of single runs, pooled over seeds and spread in the order of the clients; boxes span the
quartiles, whiskers reach to the farthest point within 1.5 box lengths, the thick line is the median.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Labelled
from fairfl.reporting import style
from fairfl.reporting.frames import named_lines, panelled
from fairfl.reporting.inputs import Inputs, ShownRow

NEEDS = ("tidy",)
COLUMNS = ["setting", "algorithm", "hyperparameters", "seed", "client", "metric", "value", "unit"]


class Config(Labelled):
    family: str = Field("gap_client", description="metrics <family>_0, <family>_1, ... are drawn")

    def metrics(self) -> list[str]:
        return [f"{self.family}_0"]


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    rows = inputs.measured()
    looks = style.algorithm_looks(inputs.spec.algorithms)
    several = len(inputs.titles) > 1 or config.labels

    def draw_one(axes: Axes, setting: str) -> pd.DataFrame:
        points = [_of_clients(inputs, setting, row, config.family) for row in rows]
        for at, row in enumerate(rows):
            _box(axes, at, points[at], row, looks[row.algorithm][0], inputs)
        named_lines(axes, [row.label for row in rows])
        axes.locator_params(axis="x", nbins=6)
        style.zero_line(axes, vertical=True)
        return pd.concat([one for one in points if len(one)] or points)

    titles = {setting: title if several else "" for setting, title in inputs.titles.items()}
    heights, labels = (0.75, 0.27 * len(rows)), ("loss gap of a client (nats)", "")
    figure, drawn = panelled(titles, draw_one, heights, len(titles), labels, sharey=True)
    return figure, pd.concat(filter(len, drawn), ignore_index=True)[COLUMNS]


def _of_clients(inputs: Inputs, setting: str, row: ShownRow, family: str) -> pd.DataFrame:
    """COLUMNS of a row's clients, seed by seed."""
    records = []
    for metric in (
        inputs.ours.members(setting, f"{family}_k") if row in inputs.rows_in(setting) else ()
    ):
        if cell := inputs.cell(setting, row, metric):
            point = {"client": int(metric.rpartition("_")[2]), "metric": metric, "unit": cell.unit}
            records += [
                {**row.names(setting), **point, "seed": s, "value": v}
                for s, v in cell.by_seed.items()
            ]
    return pd.DataFrame(records, columns=COLUMNS).sort_values(["seed", "client"])


def _box(
    axes: Axes, at: int, points: pd.DataFrame, row: ShownRow, color: str, inputs: Inputs
) -> None:
    good = points[np.isfinite(points["value"].astype(float))]
    if lost := len(points) - len(good):
        inputs.remark("Diverged, not drawn", [f"{row.label} ({lost} of {len(points)} points)"])
    if good.empty:
        return
    look = {"color": color, "linewidth": 0.9}
    axes.boxplot(
        good["value"], positions=[at], orientation="horizontal", widths=0.62, showfliers=False, manage_ticks=False,
        boxprops=look, whiskerprops=look, capprops=look, medianprops=look | {"linewidth": 1.8},
    )  # fmt: skip
    clients, most = good["client"].astype(int), int(points["client"].max())
    offset = (clients - most / 2) / max(most, 1) * 0.4
    axes.scatter(good["value"], at + offset, s=5, color=color, alpha=0.75, linewidths=0, zorder=3)
