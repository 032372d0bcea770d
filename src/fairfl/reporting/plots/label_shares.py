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
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs

NEEDS = ("statistics",)
COLUMNS = ("setting", "client", "class", "samples", "share")


class Config(Strict):
    labels: dict[str, str] = Field(default_factory=dict, description="setting id -> title of its panel")


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    names = inputs.panel_titles(config.labels)
    figure = style.canvas(style.PAGE if len(names) > 1 else style.COLUMN, 2.4)
    panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    frames = []
    for axes, (setting, title) in zip(panels, names.items(), strict=True):
        counts = inputs.label_counts(setting)
        axes.set(title=title, xlabel="client")
        _bars(axes, counts)
        frames.append(_long(setting, counts))
    panels[0].set_ylabel("share of samples (fraction)")
    return figure, pd.concat(frames, ignore_index=True)[list(COLUMNS)]


def shares(counts: np.ndarray) -> np.ndarray:
    """Counts [K, C] as fractions of each client's samples."""
    return counts / counts.sum(axis=1, keepdims=True)


def _bars(axes: Axes, counts: np.ndarray) -> None:
    clients, classes = counts.shape
    colors = style.class_map(classes)
    # Steps of one area per class, not K * C bars: ten thousand of them are a slow and heavy file.
    edges = np.arange(clients + 1) - 0.5
    tops = np.cumsum(shares(counts), axis=1)
    for label in range(classes):
        low, high = (tops[:, label - 1] if label else np.zeros(clients)), tops[:, label]
        low, high = (np.append(heights, heights[-1]) for heights in (low, high))
        axes.fill_between(edges, low, high, step="post", color=colors(label), linewidth=0)
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


def _long(setting: str, counts: np.ndarray) -> pd.DataFrame:
    """One line per client and class."""
    client, label = (axis.ravel() for axis in np.indices(counts.shape))
    return pd.DataFrame({
        "setting": setting, "client": client, "class": label, "samples": counts.ravel(),
        "share": shares(counts).ravel(),
    })  # fmt: skip
