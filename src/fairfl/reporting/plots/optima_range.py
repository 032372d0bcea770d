"""Smallest (red) and largest (blue) local optimal loss L*_k over the clients, per setting.

Points are seeds, the bar between the two marks the range of the means. Losses in nats.
"""

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, labels, mean_and_std
from fairfl.runtime.errors import FairflError

NEEDS = ("tidy",)
COLUMNS = ("setting", "label", "metric", "kind", "seed", "value")


class Config(Strict):
    labels: dict[str, str] = Field(default_factory=dict, description="setting id -> name on the axis")
    low: str = Field("local_loss_min", description="metric drawn in red")
    high: str = Field("local_loss_max", description="metric drawn in blue")

    def metrics(self) -> list[str]:
        return [self.low, self.high]


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    rows = inputs.measured()
    names = labels(inputs.settings, config.labels)
    figure = style.canvas(style.COLUMN, 2.5)
    axes = figure.add_subplot()
    series = ((config.low, style.RED, "v"), (config.high, style.BLUE, "^"))
    records = []
    for at, (setting, name) in enumerate(names.items()):
        means = []
        for metric, color, shape in series:
            cell = next(filter(None, (inputs.cell(setting, row, metric) for row in rows)), None)
            if cell is None:
                inputs.remark("No value", [f"{metric} in {name}"])
                continue
            values = list(cell.by_seed.values())
            means.append(mean_and_std(cell)[0])
            axes.scatter([at + 0.09] * len(values), values, s=10, color=color, alpha=0.55, linewidths=0, zorder=3)
            axes.scatter([at], means[-1:], s=42, color=color, marker=shape, zorder=4, linewidths=0)
            common = {"setting": setting, "label": name, "metric": metric}
            records += [
                {**common, "kind": "seed", "seed": seed, "value": value} for seed, value in cell.by_seed.items()
            ]
            records.append({**common, "kind": "mean", "value": means[-1]})
        if len(means) == 2:
            axes.plot([at, at], means, color="#bbbbbb", linewidth=3, solid_capstyle="round", zorder=2)
    if not records:
        raise FairflError(f"{inputs.where}: no value of {config.low} or {config.high}")
    axes.set_xticks(range(len(names)), list(names.values()))
    axes.set(xlim=(-0.5, len(names) - 0.5), ylabel="local optimal loss $L^*_k$ (nats)")
    axes.grid(axis="x", visible=False)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    handles = [
        style.key(color, name, marker=shape, linestyle="none", markersize=5.5)
        for (_, color, shape), name in zip(series, ("min over clients", "max over clients"), strict=True)
    ]
    handles.append(style.key(style.GREY, "single seed", marker="o", linestyle="none", markersize=3, alpha=0.7))
    style.legend_above(figure, handles)
    return figure, pd.DataFrame(records, columns=list(COLUMNS)).astype({"seed": "Int64"})
