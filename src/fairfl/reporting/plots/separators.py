"""Two-feature data of a few clients, the line that each algorithm separates them by, and the price per client.

Left: training samples (colour: client, marker: class) with the decision lines w1 x + w2 y + b = 0 of the
final models of the first seed. Right: final loss and loss gap (nats) per client, mean over seeds with std.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.footer import seeds_text
from fairfl.reporting.inputs import Inputs, ShownRow, mean_and_std
from fairfl.reporting.plots.client_scatter import class_keys, class_markers, draw_samples
from fairfl.runtime.errors import FairflError

NEEDS = ("tidy", "data", "model")
COLUMNS = [
    "panel", "setting", "algorithm", "hyperparameters", "client", "class", "x", "y", "value", "std", "seeds",
]  # fmt: skip


class Config(Strict):
    pass


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    setting, rows = inputs.settings[0], inputs.measured()
    samples = inputs.samples(setting).sort_values(["client", "class"], kind="stable")
    clients, looks = inputs.clients(setting), style.looks(inputs)
    shapes = class_markers(samples)
    figure = style.canvas(style.PAGE, 2.9)
    panels = figure.subplot_mosaic([["plane", "loss"], ["plane", "gap"]], width_ratios=(1.15, 1))
    plane = panels["plane"]
    draw_samples(plane, samples, len(clients), shapes)
    points = samples[["x", "y"]].to_numpy()
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.08 * (high - low)
    plane.set(xlim=(low[0] - room[0], high[0] + room[0]), xlabel="feature 1")
    plane.set(ylim=(low[1] - room[1], high[1] + room[1]), ylabel="feature 2")
    lines = {row.label: looks[row] | {"marker": "", "linewidth": 2} for row in rows}
    records, seeds = _draw_lines(plane, inputs, setting, rows, lines)
    for family, title in (("loss", "loss (nats)"), ("gap", "loss gap (nats)")):
        records += _draw_bars(panels[family], inputs, setting, rows, family, len(clients))
        panels[family].set_ylabel(title)
    panels["loss"].tick_params(labelbottom=False)
    style.legend_above(figure, lines | style.client_keys(clients) | class_keys(shapes))
    data = samples.assign(panel="data", setting=setting).astype({"x": float, "y": float})
    frame = pd.concat([data, pd.DataFrame(records)], ignore_index=True).reindex(columns=COLUMNS)
    bars = "1 seed"
    if frame["seeds"].max() > 1:
        bars = f"mean ± standard deviation over {seeds_text(frame['seeds'])}"
    inputs.say(f"Lines: final models of seed {', '.join(map(str, sorted(seeds)))}; bars: {bars}.")
    return figure, frame


def _draw_lines(
    axes: Axes, inputs: Inputs, setting: str, rows: list[ShownRow], looks: dict[str, style.Look]
) -> tuple[list[dict[str, Any]], set[int]]:
    """Draw each row's line; the ends of the lines, and the seeds of their models."""
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
        axes.plot(*ends.T, **looks[row.label], zorder=4)
        names = {**row.names(setting), "panel": "line"}
        records += [{**names, "x": x, "y": y} for x, y in ends.tolist()]
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


def _draw_bars(
    axes: Axes, inputs: Inputs, setting: str, rows: list[ShownRow], family: str, clients: int
) -> list[dict[str, Any]]:
    """Draw a bar for each client and row; what they show."""
    records, width, looks = [], 0.8 / len(rows), style.looks(inputs)
    for number, row in enumerate(rows):
        for client in range(clients):
            if cell := inputs.cell(setting, row, f"{family}_client_{client}"):
                mean, std = mean_and_std(cell)
                at = client + (number - (len(rows) - 1) / 2) * width
                axes.bar(
                    at,
                    mean,
                    width * 0.92,
                    yerr=std if cell.seeds > 1 else None,
                    color=looks[row]["color"],
                    zorder=2,
                )
                numbers = {"client": client, "value": mean, "std": std, "seeds": cell.seeds}
                records.append({**row.names(setting), "panel": family, **numbers})
    axes.set_xticks(range(clients), [f"client {k}" for k in range(clients)])
    axes.grid(axis="x", visible=False)
    axes.axhline(0, color=style.DARK, linewidth=0.7)
    return records
