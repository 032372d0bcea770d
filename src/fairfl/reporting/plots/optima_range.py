"""Smallest (red) and largest (blue) local optimal loss L*_k over the clients, per setting.

Points are seeds, the bar between the two marks the range of the means. Losses in nats.
"""

from itertools import product
from typing import Any

import pandas as pd
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


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    rows, names = inputs.measured(), inputs.names
    records: list[tuple[Any, ...]] = []
    for setting, metric in product(names, (config.low, config.high)):
        cells = (inputs.cell(setting, row, metric) for row in rows)
        if cell := next(filter(None, cells), None):
            label = setting, names[setting], metric
            records += [(*label, "seed", seed, value) for seed, value in cell.by_seed.items()]
            records.append((*label, "mean", None, mean_and_std(cell)[0]))
        else:
            inputs.remark("No value", [f"{metric} in {names[setting]}"])
    frame = pd.DataFrame(records, columns=COLUMNS).astype({"seed": "Int64"})
    figure = style.canvas(style.COLUMN, 2.5)
    axes = figure.subplots()
    looks: dict[str, style.Look] = {
        config.low: {"color": style.RED, "marker": "v", "linestyle": "none"},
        config.high: {"color": style.BLUE, "marker": "^", "linestyle": "none"},
    }
    seed: style.Look = {"marker": "o", "markersize": 3, "alpha": 0.6}
    at, means = frame["setting"].map(list(names).index), frame["kind"] == "mean"
    for (metric, kind), points in frame.groupby(["metric", "kind"]):
        is_seed = kind == "seed"
        look = looks[metric] | (seed if is_seed else {"markersize": 6.5})
        axes.plot(at[points.index] + 0.09 * is_seed, points["value"], **look)
    ends = frame[means].groupby(at)["value"].agg(["min", "max"])
    axes.vlines(ends.index, ends["min"], ends["max"], color="#bbbbbb", linewidth=3, zorder=1)
    axes.set_xticks(range(len(names)), list(names.values()))
    axes.set(xlim=(-0.5, len(names) - 0.5), ylabel="local optimal loss $L^*_k$ (nats)")
    axes.grid(axis="x", visible=False)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    low, high = looks.values()
    single = low | seed | {"color": style.GREY}
    style.legend_above(
        figure, {"min over clients": low, "max over clients": high, "single seed": single}
    )
    return figure, frame
