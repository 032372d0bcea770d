"""Two-feature samples of every client: one panel per client on common axes, and all clients in one.

Colour is the client, marker the class.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.frames import panelled
from fairfl.reporting.inputs import Inputs, Samples
from fairfl.reporting.plots.separators import frame

NEEDS = ("data",)
COLUMNS = ("kind", "setting", "client", "class", "x", "y")
ALL = -1


class Config(Strict):
    pass


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    setting = inputs.settings[0]
    samples = inputs.plane(setting, "all")
    clients = int(samples.client.max()) + 1

    def draw_one(axes: Axes, client: int) -> list[dict]:
        frame(axes, samples.features, 0.06)
        shown = range(clients) if client == ALL else [client]
        return [record for one in shown for record in _client(axes, setting, samples, one, clients)]

    titles = {client: f"client {client}" for client in range(clients)} | {ALL: "all clients"}
    figure, drawn = panelled(titles, draw_one, (0.75, 1.6), 4, ("feature 1", "feature 2"), sharex=True, sharey=True)
    handles = [
        style.key("#555555", f"class {label}", marker=style.marker(n), linestyle="none", markersize=4)
        for n, label in enumerate(np.unique(samples.labels))
    ]
    style.legend_above(figure, handles)
    return figure, pd.DataFrame([record for each in drawn[:-1] for record in each], columns=list(COLUMNS))


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
