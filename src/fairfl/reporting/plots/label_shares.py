"""Which classes each client has: a panel per setting, a bar per client, stacked shares of its samples by class.

All parts of the first seed's partition count. Nothing is trained.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairfl.experiments.base import Labelled
from fairfl.reporting import style
from fairfl.reporting.frames import panelled
from fairfl.reporting.inputs import Inputs

NEEDS = ("statistics",)
COLUMNS = ["setting", "client", "class", "samples", "share"]


class Config(Labelled):
    pass


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    def draw_one(axes: Axes, setting: str) -> pd.DataFrame:
        counts = inputs.label_counts(setting)
        _bars(axes, counts)
        client, label = map(np.ravel, np.indices(counts.shape))
        numbers = {"samples": counts.ravel(), "share": shares(counts).ravel()}
        return pd.DataFrame({"setting": setting, "client": client, "class": label, **numbers})

    labels, across = ("client", "share of samples (fraction)"), len(inputs.titles)
    figure, frames = panelled(inputs.titles, draw_one, (0.0, 2.4), across, labels, sharey=True)
    return figure, pd.concat(frames, ignore_index=True)


def shares(counts: np.ndarray) -> np.ndarray:
    """Counts [K, C] as fractions of each client's samples."""
    return counts / counts.sum(axis=1, keepdims=True)


def _bars(axes: Axes, counts: np.ndarray) -> None:
    clients, classes = counts.shape
    colors = style.class_map(classes)
    # Steps of one area per class, not K * C bars: ten thousand of them are a slow and heavy file.
    edges, heights = np.arange(clients + 1) - 0.5, shares(counts)
    heights = np.append(heights, heights[-1:], axis=0)
    axes.stackplot(edges, heights.T, step="post", colors=colors(range(classes)), linewidth=0)
    if clients <= 120:
        axes.vlines(edges[1:-1], 0, 1, color="white", linewidth=24 / clients)
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=False)
    scale = ScalarMappable(BoundaryNorm(np.arange(classes + 1) - 0.5, classes), colors)
    every = -(-classes // 11)
    bar = axes.figure.colorbar(scale, ax=axes, ticks=range(0, classes, every), aspect=30, pad=0.02)
    bar.ax.tick_params(length=0)
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("class")
