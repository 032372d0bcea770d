"""Two-feature data of a few clients, the line that each algorithm separates them by, and the price per client.

Left: training samples (colour: client, marker: class) with the decision lines w1 x + w2 y + b = 0 of the
final models of the first seed. Right: final loss and loss gap (nats) per client, mean over seeds with std.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, ShownRow, mean_and_std
from fairfl.reporting.notes import seeds_text
from fairfl.reporting.plots.client_scatter import class_keys, scatter
from fairfl.runtime.errors import FairflError

NEEDS = ("tidy", "data", "model")
COLUMNS = [
    "panel",
    "setting",
    "algorithm",
    "hyperparameters",
    "client",
    "class",
    "x",
    "y",
    "value",
    "std",
    "seeds",
]


class Config(Strict):
    pass


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    setting = inputs.settings[0]
    samples = inputs.samples(setting)
    rows = inputs.measured()
    clients = int(samples["client"].max()) + 1
    looks = style.looks(inputs)

    figure = style.canvas(style.PAGE, 2.9)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.15, 1))
    plane = figure.add_subplot(grid[:, 0])
    bars = [figure.add_subplot(grid[n, 1]) for n in range(2)]

    data = scatter(plane, samples, 0.08, samples).assign(panel="data", setting=setting)
    plane.set(xlabel="feature 1", ylabel="feature 2")
    records, seeds = _lines(plane, inputs, setting, rows, looks)
    for axes, family, title in zip(
        bars, ("loss", "gap"), ("loss (nats)", "loss gap (nats)"), strict=True
    ):
        records += _bars(axes, inputs, setting, rows, looks, family, clients)
        axes.set_ylabel(title)
    bars[0].tick_params(labelbottom=False)
    handles = [
        style.key(looks[row]["color"], row.label, linestyle=looks[row]["linestyle"]) for row in rows
    ]
    handles += [*style.client_keys(inputs.clients(setting), lines=False), *class_keys(samples)]
    style.legend_above(
        figure, handles, len(handles) if len(handles) <= 6 else (len(handles) + 1) // 2
    )
    drawn = pd.concat([data, pd.DataFrame(records)], ignore_index=True).reindex(columns=COLUMNS)
    bars_are = (
        f"mean ± standard deviation over {seeds_text(drawn['seeds'])}"
        if drawn["seeds"].max() > 1
        else "1 seed"
    )
    inputs.say(
        f"Lines: final models of seed {', '.join(map(str, sorted(seeds)))}; bars: {bars_are}."
    )
    return figure, drawn


def _lines(
    axes: Axes,
    inputs: Inputs,
    setting: str,
    rows: list[ShownRow],
    looks: dict[ShownRow, style.Look],
) -> tuple[list[dict[str, Any]], set[int]]:
    records, seeds = [], set()
    for row in rows:
        model = inputs.model(setting, row)
        if model is None:
            inputs.remark("No model kept", [row.label])
            continue
        seeds.add(model[0])
        ends = line_in_frame(model[1]["theta"], axes.get_xlim(), axes.get_ylim())
        if ends is None:
            inputs.remark("Line outside the frame", [row.label])
            continue
        axes.plot(
            *ends.T,
            color=looks[row]["color"],
            linestyle=looks[row]["linestyle"],
            linewidth=2,
            zorder=4,
        )
        records += [
            {**row.names(setting), "panel": "line", "x": x, "y": y} for x, y in ends.tolist()
        ]
    return records, seeds


def line_in_frame(
    theta: np.ndarray, across: tuple[float, float], up: tuple[float, float]
) -> np.ndarray | None:
    """End points [2, 2] of w1 x + w2 y + b = 0 inside a rectangle, None if it does not cross it.

    Raises FairflError unless theta is (w1, w2) or (w1, w2, b).
    """
    if theta.shape not in ((2,), (3,)):
        raise FairflError(
            f"a separator needs a model with parameters (w1, w2, b), this one has {theta.size}"
        )
    w1, w2, b = (*theta.astype(float), 0.0)[:3]
    points = [(x, -(w1 * x + b) / w2) for x in across if w2] + [
        (-(w2 * y + b) / w1, y) for y in up if w1
    ]
    slack = 1e-9 * (abs(across[1] - across[0]) + abs(up[1] - up[0]))
    inside = [
        (x, y)
        for x, y in points
        if across[0] - slack <= x <= across[1] + slack and up[0] - slack <= y <= up[1] + slack
    ]
    return np.array([min(inside), max(inside)]) if len(inside) >= 2 else None


def _bars(
    axes: Axes,
    inputs: Inputs,
    setting: str,
    rows: list[ShownRow],
    looks: dict[ShownRow, style.Look],
    family: str,
    clients: int,
) -> list[dict[str, Any]]:
    records = []
    width = 0.8 / len(rows)
    for number, row in enumerate(rows):
        for client in range(clients):
            if cell := inputs.cell(setting, row, f"{family}_client_{client}"):
                mean, std = mean_and_std(cell)
                at, bar = (
                    client + (number - (len(rows) - 1) / 2) * width,
                    std if cell.seeds > 1 else None,
                )
                axes.bar(
                    at,
                    mean,
                    width * 0.92,
                    yerr=bar,
                    capsize=1.8,
                    color=looks[row]["color"],
                    zorder=2,
                )
                numbers = {"client": client, "value": mean, "std": std, "seeds": cell.seeds}
                records.append({**row.names(setting), "panel": family, **numbers})
    axes.set_xticks(range(clients), [f"client {k}" for k in range(clients)])
    axes.grid(axis="x", visible=False)
    axes.axhline(0, color="#333333", linewidth=0.7)
    return records
