"""Two-feature samples of every client: one panel per client on common axes, and all clients in one.

Colour is the client, marker the class.
"""

from functools import partial

import pandas as pd
import seaborn
from matplotlib.axes import Axes

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.formulas import literal
from fairfl.reporting.inputs import Inputs
from fairfl.reporting.panels import panels

NEEDS = ("data",)
COLUMNS = ["kind", "setting", "client", "class", "x", "y"]
ALL = -1


class Config(Strict):
    pass


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    setting = inputs.settings[0]
    samples = inputs.samples(setting, "all")
    samples = samples.sort_values(["client", "class"], kind="stable")
    titles = {**dict(enumerate(map(literal, inputs.clients(setting)))), ALL: "all clients"}
    shapes = class_markers(samples)
    draw_panel = partial(draw_samples, clients=len(titles) - 1, shapes=shapes)
    frame = pd.concat([samples.assign(panel=samples["client"]), samples.assign(panel=ALL)])
    grid = panels(
        frame,
        draw_panel,
        titles,
        1.6,
        col="panel",
        col_order=list(titles),
        col_wrap=min(4, len(titles)),
    )
    grid.set_axis_labels("feature 1", "feature 2")
    style.legend_above(grid.figure, class_keys(shapes))
    numbers = samples.assign(kind="sample", setting=setting).astype({"x": float, "y": float})
    return grid.figure, numbers[COLUMNS]


def draw_samples(axes: Axes, samples: pd.DataFrame, clients: int, shapes: dict[int, str]) -> None:
    """Draw samples of two features, the client as colour and the class as marker."""
    colors = dict(enumerate(style.client_colors(clients)))
    seaborn.scatterplot(
        samples,
        x="x",
        y="y",
        hue="client",
        palette=colors,
        style="class",
        markers=shapes,
        s=11,
        alpha=0.7,
        legend=False,
        ax=axes,
    )


def class_markers(samples: pd.DataFrame) -> dict[int, str]:
    """Marker of each class."""
    return {label: style.marker(at) for at, label in enumerate(sorted(samples["class"].unique()))}


def class_keys(shapes: dict[int, str]) -> dict[str, style.Look]:
    """Legend entries of the classes."""
    look: style.Look = {"color": "#555555", "linestyle": "none", "markersize": 4}
    return {f"class {label}": look | {"marker": shape} for label, shape in shapes.items()}
