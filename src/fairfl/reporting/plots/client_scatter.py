"""Two-feature samples of every client: one panel per client on common axes, and all clients in one.

Colour is the client, marker the class.
"""

import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.formulas import literal
from fairfl.reporting.frames import panelled
from fairfl.reporting.inputs import Inputs

NEEDS = ("data",)
COLUMNS = ["kind", "setting", "client", "class", "x", "y"]
ALL = -1


class Config(Strict):
    pass


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    setting = inputs.settings[0]
    samples = inputs.samples(setting, "all")

    def draw_one(axes: Axes, client: int) -> pd.DataFrame:
        return scatter(
            axes, samples, 0.06, samples if client == ALL else samples[samples["client"] == client]
        )

    titles = {**dict(enumerate(map(literal, inputs.clients(setting)))), ALL: "all clients"}
    labels = ("feature 1", "feature 2")
    figure, drawn = panelled(titles, draw_one, (0.75, 1.6), 4, labels, sharex=True, sharey=True)
    style.legend_above(figure, class_keys(samples))
    return figure, drawn[-1].assign(kind="sample", setting=setting)[COLUMNS]


def scatter(axes: Axes, samples: pd.DataFrame, margin: float, shown: pd.DataFrame) -> pd.DataFrame:
    """Draw the `shown` of some samples in limits that have room for all, `margin` as a share of their range.

    What is shown by client and class.
    """
    clients, points = samples["client"].max() + 1, samples[["x", "y"]].to_numpy()
    low, high = points.min(axis=0), points.max(axis=0)
    room = margin * (high - low)
    axes.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))
    colors = {client: style.client_color(client, clients) for client in range(clients)}
    shapes = {
        label: style.marker(number)
        for number, label in enumerate(sorted(samples["class"].unique()))
    }
    looks = {
        "hue": "client",
        "palette": colors,
        "style": "class",
        "markers": shapes,
        "s": 11,
        "alpha": 0.7,
    }
    seaborn.scatterplot(shown, x="x", y="y", **looks, legend=False, ax=axes)
    axes.set(xlabel="", ylabel="")
    return shown.sort_values(["client", "class"], kind="stable").astype({"x": float, "y": float})


def class_keys(samples: pd.DataFrame) -> list[Line2D]:
    """Legend entries of the classes."""
    return [
        style.key(
            "#555555", f"class {label}", marker=style.marker(number), linestyle="none", markersize=4
        )
        for number, label in enumerate(sorted(samples["class"].unique()))
    ]
