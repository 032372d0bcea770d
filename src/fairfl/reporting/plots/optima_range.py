"""Smallest (red) and largest (blue) local optimal loss L*_k over the clients, per setting.

Points are seeds, the bar between the two marks the range of the means. Losses in nats.
"""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Labelled
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, mean_and_std

NEEDS = ("tidy",)
COLUMNS = ["setting", "label", "metric", "kind", "seed", "value"]


class Config(Labelled):
    low: str = Field("local_loss_min", description="metric drawn in red")
    high: str = Field("local_loss_max", description="metric drawn in blue")

    def metrics(self) -> list[str]:
        return [self.low, self.high]


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    rows = inputs.measured()
    figure = style.canvas(style.COLUMN, 2.5)
    axes = figure.add_subplot()
    series = {
        config.low: (style.RED, "v", "min over clients"),
        config.high: (style.BLUE, "^", "max over clients"),
    }
    records: list[tuple[Any, ...]] = []
    for at, (setting, name) in enumerate(inputs.names.items()):
        means = []
        for metric, (color, shape, _) in series.items():
            cell = next(filter(None, (inputs.cell(setting, row, metric) for row in rows)), None)
            if cell is None:
                inputs.remark("No value", [f"{metric} in {name}"])
                continue
            means.append(mean_and_std(cell)[0])
            values = [*cell.by_seed.values()]
            axes.plot([at + 0.09] * cell.seeds, values, "o", color=color, alpha=0.55, markersize=3)
            axes.plot(at, means[-1], shape, color=color, markersize=6.5, zorder=4)
            names = setting, name, metric
            records += [(*names, "seed", seed, value) for seed, value in cell.by_seed.items()]
            records.append((*names, "mean", None, means[-1]))
        bar: style.Look = {"color": "#bbbbbb", "linewidth": 3, "solid_capstyle": "round"}
        axes.plot([at] * len(means), means, zorder=1, **bar)
    axes.set_xticks(range(len(inputs.names)), list(inputs.names.values()))
    axes.set(xlim=(-0.5, len(inputs.names) - 0.5), ylabel="local optimal loss $L^*_k$ (nats)")
    axes.grid(axis="x", visible=False)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    look: style.Look = {"linestyle": "none", "markersize": 5.5}
    handles = [
        style.key(color, name, marker=shape, **look) for color, shape, name in series.values()
    ]
    seed = look | {"marker": "o", "markersize": 3, "alpha": 0.7}
    style.legend_above(figure, [*handles, style.key(style.GREY, "single seed", **seed)])
    return figure, pd.DataFrame(records, columns=COLUMNS).astype({"seed": "Int64"})
