"""How algorithms move: training loss of each client along training, and the way in weight space.

Left: one panel per algorithm, mean over seeds. Right: path of (w1, w2) of a two-feature logistic model (first
seed) over contours of the mean over clients of the training loss (nats) in that plane; the bias is held at its
final value for FedAvg, or for the first row if FedAvg is not among them.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, NoRunsError, ShownRow
from fairfl.reporting.plots.client_curves import draw_curves, over_seeds
from fairfl.runtime.errors import FairflError

NEEDS = ("rounds", "data", "model")
KEEP = ("path",)
COLUMNS = [
    "panel", "setting", "algorithm", "hyperparameters", "client", "round", "mean", "low", "high", "seeds",
    "w1", "w2", "loss",
]  # fmt: skip


# Points per side of the contours' loss; contours; room as a share of the range.
GRID, LEVELS, MARGIN = 61, 12, 0.15
Path = tuple[np.ndarray, np.ndarray]  # rounds [T], theta [T, 2 or 3]


class Config(Strict):
    log_x: bool = Field(False, description="logarithmic rounds (round 0 stays in sight)")

    def parts(self) -> list[str]:
        return ["train"]


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    setting = inputs.settings[0]
    rounds = inputs.rounds[inputs.rounds["setting"] == setting]
    rows, samples, clients = (
        inputs.trained(rounds),
        inputs.samples(setting),
        inputs.clients(setting),
    )
    across = min(2, len(rows))
    tall = -(-len(rows) // across)
    figure = style.canvas(style.PAGE, max(3.3, 0.8 + 1.2 * tall))
    grid = figure.add_gridspec(tall, 2 * across)
    frames, first = [], None
    for number, row in enumerate(rows):
        axes = figure.add_subplot(grid[divmod(number, across)], sharex=first, sharey=first)
        first = first or axes
        frame = over_seeds(row.of(rounds), row, "loss_train")
        draw_curves(axes, frame, len(clients), config.log_x)
        axes.set(title=row.label, xlabel="round", ylabel="training loss (nats)")
        axes.label_outer()
        frames.append(frame.assign(panel="loss"))
    paths = _paths(inputs, setting, rows)
    plane, looks = figure.add_subplot(grid[:, across:]), style.looks(inputs)
    frames += _draw_plane(plane, paths, setting, samples)
    start: style.Look = {
        "color": style.DARK,
        "marker": "o",
        "linestyle": "none",
        "markerfacecolor": "white",
    }
    end: style.Look = {"color": style.DARK, "marker": "*", "linestyle": "none", "markersize": 9}
    lines: dict[str, style.Look] = {}
    for row, (_, theta) in paths.items():
        lines[row.label] = looks[row] | {"markevery": 0.12}
        plane.plot(*theta[:, :2].T, **lines[row.label], zorder=3)
        plane.plot(*theta[0, :2], **start, zorder=4)
        color = {"color": looks[row]["color"], "markeredgecolor": "white"}
        plane.plot(*theta[-1, :2], **end | color, zorder=5)
    style.legend_above(figure, {**style.client_keys(clients), **lines, "start": start, "end": end})
    return figure, pd.concat(frames, ignore_index=True).reindex(columns=COLUMNS)


def _draw_plane(
    axes: Axes, paths: dict[ShownRow, Path], setting: str, samples: pd.DataFrame
) -> list[pd.DataFrame]:
    """Draw the contours of the loss; the numbers of the paths and of the contours."""
    reference = next((row for row in paths if row.algorithm == "fedavg"), next(iter(paths)))
    final = paths[reference][1][-1]
    bias = float(final[2]) if len(final) == 3 else 0.0
    grid = _grid([theta for _, theta in paths.values()])
    losses = mean_loss(samples, *grid, bias)
    levels = np.unique(np.geomspace(max(losses.min(), 1e-6) * 1.01, losses.max(), LEVELS))
    axes.contourf(*grid, losses.T, levels=levels, cmap="Greys", alpha=0.45, extend="both", zorder=0)
    lines = axes.contour(*grid, losses.T, levels=levels, colors="#9a9a9a", linewidths=0.5, zorder=1)
    axes.clabel(lines, levels[::2], fmt="%.2f", fontsize=7, colors="#555555")
    contours = f"(contours: mean client loss, bias {bias:.3g} of {reference.label})"
    axes.set(xlabel=f"$w_1$   {contours}", ylabel="$w_2$")
    axes.grid(visible=False)
    frames = [
        pd.DataFrame({"round": when, "w1": theta[:, 0], "w2": theta[:, 1]}).assign(
            panel="path", **row.names(setting)
        )
        for row, (when, theta) in paths.items()
    ]
    w1, w2 = np.meshgrid(*grid, indexing="ij")
    contour = pd.DataFrame({"w1": w1.ravel(), "w2": w2.ravel(), "loss": losses.ravel()})
    return [*frames, contour.assign(setting=setting, panel="contour")]


def _paths(inputs: Inputs, setting: str, rows: list[ShownRow]) -> dict[ShownRow, Path]:
    """The paths of rows up to the first step that is not finite."""
    paths: dict[ShownRow, Path] = {}
    for row in rows:
        if (model := inputs.model(setting, row)) is None:
            inputs.remark("No path kept", [row.label])
            continue
        seed, tensors = model
        theta = tensors["path"].astype(float)
        if theta.shape[1] not in (2, 3):
            raise FairflError(
                f"{inputs.where}: {setting} has {theta.shape[1]} parameters. Expected w1, w2 and b"
            )
        finite = np.isfinite(theta).all(axis=1)
        end = int(np.argmin([*finite, False]))
        if end < len(theta):
            inputs.remark("Diverged, path cut", [row.label])
        if end:
            paths[row] = (tensors["path_rounds"][:end], theta[:end])
        inputs.say(f"Paths: seed {seed}.")
    if not paths:
        raise NoRunsError("No run kept its path.")
    return paths


def _grid(paths: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    points = np.concatenate([theta[:, :2] for theta in paths])
    low, high = points.min(axis=0), points.max(axis=0)
    # Equal room on both axes; a model that has not moved still gets a visible frame.
    room = MARGIN * max(float((high - low).max()), 0.1)
    w1, w2 = (np.linspace(a - room, b + room, GRID) for a, b in zip(low, high, strict=True))
    return w1, w2


def mean_loss(samples: pd.DataFrame, w1: np.ndarray, w2: np.ndarray, bias: float) -> np.ndarray:
    """Mean over clients of the mean logistic loss (nats) [len(w1), len(w2)]; every client counts alike.

    Raises FairflError unless the samples have two classes.
    """
    classes = np.unique(samples["class"])
    if len(classes) != 2:
        raise FairflError(
            f"contours of the logistic loss need two classes, there are {len(classes)}"
        )
    sign = np.where(samples["class"] == classes[1], 1.0, -1.0)
    _, owner, counts = np.unique(samples["client"], return_inverse=True, return_counts=True)
    weight = 1.0 / (len(counts) * counts[owner])
    x, y = samples[["x", "y"]].to_numpy(float).T
    losses = np.empty((len(w1), len(w2)))
    for i, first in enumerate(w1):  # one line of the grid at a time keeps memory at samples x grid
        margins = sign[:, None] * (first * x[:, None] + y[:, None] * w2[None, :] + bias)
        losses[i] = weight @ np.logaddexp(0.0, -margins)
    return losses
