"""Two-feature samples of every client: one panel per client on common axes, and all clients in one.

Colour is the client, marker the class. If the options give the normal vector of a client's Bayes separator,
its line (through the origin or the given offset) is drawn dashed.
"""

from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, Samples
from fairfl.reporting.plots.separators import frame, line_in_frame

NEEDS = ("data",)
COLUMNS = ("kind", "setting", "client", "class", "x", "y")
PER_LINE = 4


class Config(Strict):
    part: Literal["train", "all"] = Field("all", description="which samples are shown")
    overlay: bool = Field(True, description="one more panel with all clients")
    separators: list[list[float]] = Field(
        default_factory=list, description="per client (w1, w2) or (w1, w2, b) of its Bayes separator; [] for none"
    )
    x_label: str = Field("feature 1", description="horizontal axis")
    y_label: str = Field("feature 2", description="vertical axis")


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    setting = inputs.settings[0]
    samples = inputs.plane(setting, config.part)
    clients = int(samples.client.max()) + 1
    count = clients + config.overlay
    figure = style.canvas(style.PAGE if count > 2 else style.COLUMN, 0.75 + 1.6 * -(-count // PER_LINE))
    panels = style.panels(figure, count, min(count, PER_LINE), sharex=True, sharey=True)
    cells = list(panels.flat)
    frame(cells[0], samples.features, 0.06)
    records = []
    for client in range(clients):
        records += _client(cells[client], setting, samples, client, clients)
        records += _separator(cells[client], setting, config, client, clients)
        cells[client].set_title(f"client {client}")
    if config.overlay:
        for client in range(clients):
            _client(cells[clients], setting, samples, client, clients)
            _separator(cells[clients], setting, config, client, clients)
        cells[clients].set_title("all clients")
    for axes in panels[-1]:
        axes.set_xlabel(config.x_label)
    for axes in panels[:, 0]:
        axes.set_ylabel(config.y_label)
    handles = [
        style.key("#555555", f"class {label}", marker=style.marker(n), linestyle="none", markersize=4)
        for n, label in enumerate(np.unique(samples.labels))
    ]
    if config.separators:
        handles.append(style.key("#555555", "Bayes separator", linestyle=style.dash(1)))
    style.legend_above(figure, handles)
    return figure, pd.DataFrame(records, columns=list(COLUMNS))


def _client(axes: Axes, setting: str, samples: Samples, client: int, clients: int) -> list[dict]:
    records = []
    color = style.client_color(client, clients)
    for number, label in enumerate(np.unique(samples.labels)):
        x, y = samples.features[(samples.client == client) & (samples.labels == label)].T
        # Filled against hollow: classes stay apart in print without colour.
        face = color if number % 2 == 0 else "none"
        axes.scatter(
            x, y, s=9, marker=style.marker(number), facecolors=face, edgecolors=color, linewidths=0.6, alpha=0.75,
        )  # fmt: skip
        common = {"kind": "sample", "setting": setting, "client": client, "class": label}
        records += [{**common, "x": at[0], "y": at[1]} for at in zip(x.tolist(), y.tolist(), strict=True)]
    return records


def _separator(axes: Axes, setting: str, config: Config, client: int, clients: int) -> list[dict]:
    vector = config.separators[client] if client < len(config.separators) else []
    ends = line_in_frame(np.array(vector), axes.get_xlim(), axes.get_ylim()) if vector else None
    if ends is None:
        return []
    axes.plot(*ends.T, color=style.client_color(client, clients), linestyle=style.dash(1), linewidth=1.4)
    return [{"kind": "separator", "setting": setting, "client": client, "x": x, "y": y} for x, y in ends.tolist()]
