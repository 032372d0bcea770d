"""Which classes each client has: a panel per setting, a bar per client, stacked shares of its samples by class.

All parts of the first seed's partition count. Nothing is trained.
"""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm

from fairfl.experiments.base import Labelled
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs
from fairfl.reporting.panels import panels

NEEDS = ("statistics",)
COLUMNS = ["setting", "client", "class", "samples", "share"]


class Config(Labelled):
    pass


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    frames = []
    for setting in inputs.settings:
        counts = pd.DataFrame(inputs.label_counts(setting)).rename_axis("client")
        frame = counts.reset_index().melt("client", var_name="class", value_name="samples")
        frames.append(frame.sort_values(["client", "class"], kind="stable").assign(setting=setting))
    frame = pd.concat(frames, ignore_index=True)
    of_client = frame.groupby(["setting", "client"])["samples"].transform("sum")
    frame["share"] = frame["samples"] / of_client
    grid = panels(
        frame,
        _draw_bars,
        inputs.titles,
        1.6,
        col="setting",
        col_order=inputs.settings,
        sharex=False,
    )
    grid.set_axis_labels("client", "share of samples (fraction)")
    return grid.figure, frame[COLUMNS]


def _draw_bars(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw steps of one area per class, not a bar per client and class: ten thousand are a slow and heavy file."""
    shares = frame.pivot(index="client", columns="class", values="share").to_numpy()
    clients, classes = shares.shape
    colors = matplotlib.colormaps["tab10" if classes <= 10 else "turbo"].resampled(classes)
    edges, heights = np.arange(clients + 1) - 0.5, np.append(shares, shares[-1:], axis=0)
    axes.stackplot(edges, heights.T, step="post", colors=colors(range(classes)), linewidth=0)
    if clients <= 120:
        axes.vlines(edges[1:-1], 0, 1, color="white", linewidth=24 / clients)
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, 1))
    axes.locator_params(axis="x", integer=True)
    axes.grid(visible=False)
    scale = ScalarMappable(BoundaryNorm(np.arange(classes + 1) - 0.5, classes), colors)
    ticks = range(0, classes, -(-classes // 11))
    bar = axes.figure.colorbar(scale, ax=axes, ticks=ticks, aspect=30, pad=0.02, label="class")
    bar.ax.tick_params(length=0)
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
