"""The test by which FedEBA+ chooses between its two alignments, in the plane of two clients' losses (its figure 2).

Losses outside of the cone around the vector of ones, at a larger angle than theta, are unfair: gradient alignment.
Those inside are fair enough: model alignment. Nothing is trained. The angles are those of
fairfl.algorithms.shared.entropy; they stand in the CSV as metric angle_deg of unfair, fair and theta.
"""

from math import atan2, cos, degrees, radians, sin
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Wedge
from pydantic import Field

from fairfl.algorithms.shared import entropy
from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs
from fairfl.runtime.errors import FairflError

NEEDS = ()
COLUMNS = ["algorithm", "metric", "value", "x", "y"]

_DARK = "#222222"
_DIAGONAL = 45.0  # degrees, direction of the vector of ones
_COLORS: dict[str, str] = {"unfair": style.RED, "fair": style.BLUE}
_EDGE: style.Look = {"color": style.BLUE, "linestyle": style.dash(1), "linewidth": 0.8}


class Config(Strict):
    theta: float = Field(
        gt=0, lt=45, description="fair angle, degrees; no losses of two clients are beyond 45"
    )
    unfair: list[float] = Field(
        min_length=2,
        max_length=2,
        description="losses of two clients outside of the cone, the second the larger one",
    )
    fair: list[float] = Field(
        min_length=2, max_length=2, description="losses of two clients inside of the cone"
    )


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    vectors = {"unfair": np.array(config.unfair), "fair": np.array(config.fair)}
    angles = {name: entropy.angle(torch.from_numpy(vector)) for name, vector in vectors.items()}
    if not angles["fair"] <= config.theta < angles["unfair"]:
        found = f"unfair {angles['unfair']:.1f}, fair {angles['fair']:.1f}"
        raise FairflError(
            f"{inputs.where}.options: degrees from the vector of ones: {found}. Expected theta between them"
        )
    figure = style.canvas(style.COLUMN, 3.3)
    axes = figure.subplots()
    size = 1.15 * max(1.0, *config.unfair, *config.fair)
    axes.set(xlim=(0, size), ylim=(0, size), aspect="equal", xticks=[], yticks=[])
    axes.set(xlabel="loss of client 1", ylabel="loss of client 2")
    _cone(axes, config.theta, size)
    _arrow(axes, np.ones(2), _DARK, "$\\mathbf{1}$")
    _arc(axes, _DIAGONAL + config.theta, 0.3 * size, _DARK, "θ")
    for name, vector in vectors.items():
        _arrow(axes, vector, _COLORS[name], "$F$")
        _arc(
            axes,
            degrees(atan2(vector[1], vector[0])),
            0.5 * size,
            _COLORS[name],
            f"{angles[name]:.0f}°",
        )
    labels = {
        "vector of ones": _DARK,
        "losses, unfair": _COLORS["unfair"],
        "losses, fair enough": _COLORS["fair"],
    }
    style.legend_above(figure, [style.key(color, label) for label, color in labels.items()])
    ends = {"ones": np.ones(2)} | vectors
    records: list[dict[str, Any]] = [
        {"algorithm": name, "metric": "", "x": x, "y": y} for name, (x, y) in ends.items()
    ]
    shown = angles | {"theta": config.theta}
    records += [
        {"algorithm": name, "metric": "angle_deg", "value": value} for name, value in shown.items()
    ]
    return figure, pd.DataFrame(records, columns=COLUMNS)


def _direction(angle: float) -> np.ndarray:
    """The vector of length 1 at an angle in degrees."""
    return np.array([cos(radians(angle)), sin(radians(angle))])


def _cone(axes: Axes, theta: float, size: float) -> None:
    """All that is at most theta from the vector of ones, and what is done in it and beside it."""
    far = 2 * size
    ends = (_DIAGONAL - theta, _DIAGONAL + theta)
    axes.add_patch(Wedge((0, 0), far, *ends, facecolor=_COLORS["fair"], alpha=0.1, linewidth=0))
    for end in ends:
        axes.plot(*zip((0, 0), far * _direction(end), strict=True), **_EDGE)
    for angle, name in (
        (_DIAGONAL + theta / 2, "fair"),
        (ends[0] - 3, "unfair"),
        (ends[1] + 3, "unfair"),
    ):
        text = "model alignment" if name == "fair" else "gradient alignment"
        x, y = 0.78 * size * _direction(angle)
        axes.text(
            x,
            y,
            text,
            color=_COLORS[name],
            rotation=angle,
            rotation_mode="anchor",
            ha="center",
            va="center",
        )


def _arrow(axes: Axes, vector: np.ndarray, color: str, label: str) -> None:
    style.arrow(axes, vector, color, 1.6, 9, zorder=4)
    style.write(axes, label, vector, 8 * vector / np.linalg.norm(vector), color=color)


def _arc(axes: Axes, angle: float, radius: float, color: str, label: str) -> None:
    """From the vector of ones to a direction, with its size written beside the middle."""
    low, high = sorted((_DIAGONAL, angle))
    middle = _direction((low + high) / 2)
    axes.add_patch(
        Arc((0, 0), 2 * radius, 2 * radius, theta1=low, theta2=high, color=color, linewidth=0.9)
    )
    style.write(axes, label, radius * middle, 6 * middle, color=color)
