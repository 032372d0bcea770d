"""The test by which FedEBA+ chooses between its two alignments, in the plane of two clients' losses (its figure 2).

Losses outside of the cone around the vector of ones, at a larger angle than theta, are unfair: gradient alignment.
Those inside are fair enough: model alignment. Nothing is trained. The angles are from
fairfl.algorithms.shared.entropy; they stand in the CSV as metric angle_deg of unfair, fair and theta.
"""

from math import atan2, cos, degrees, radians, sin

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Arc, Wedge
from pydantic import Field

from fairfl.algorithms.shared import entropy
from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs
from fairfl.runtime.errors import FairflError

NEEDS = ()
COLUMNS = ["algorithm", "metric", "value", "x", "y"]

_DIAGONAL = 45.0  # degrees, direction of the vector of ones


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


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    vectors = {"unfair": np.array(config.unfair), "fair": np.array(config.fair)}
    angles = {name: entropy.angle(torch.from_numpy(vector)) for name, vector in vectors.items()}
    vectors = {"ones": np.ones(2), **vectors}
    if not angles["fair"] <= config.theta < angles["unfair"]:
        measured = f"unfair {angles['unfair']:.1f}, fair {angles['fair']:.1f}"
        raise FairflError(
            f"{inputs.where}.options: degrees from the vector of ones: {measured}. Expected theta between them"
        )
    figure = style.canvas(style.COLUMN, 3.3)
    axes = figure.subplots()
    size = 1.15 * max(1.0, *config.unfair, *config.fair)
    axes.set(xlim=(0, size), ylim=(0, size), aspect="equal", xticks=[], yticks=[])
    axes.set(xlabel="loss of client 1", ylabel="loss of client 2")
    low, high = _DIAGONAL - config.theta, _DIAGONAL + config.theta
    cone = Wedge((0, 0), 2 * size, low, high, facecolor=(style.BLUE, 0.1), edgecolor=style.BLUE)
    cone.set(linestyle=style.dash(1), linewidth=0.8)
    axes.add_patch(cone)
    for angle, name, color in (
        (_DIAGONAL + config.theta / 2, "model", style.BLUE),
        (low - 3, "gradient", style.RED),
        (high + 3, "gradient", style.RED),
    ):
        at = 0.78 * size * _direction(angle)
        style.write(
            axes,
            f"{name} alignment",
            at,
            (0, 0),
            color=color,
            rotation=angle,
            rotation_mode="anchor",
        )
    named = {
        "vector of ones": style.DARK,
        "losses, unfair": style.RED,
        "losses, fair enough": style.BLUE,
    }
    for (name, vector), color in zip(vectors.items(), named.values(), strict=True):
        style.arrow(axes, vector, color)
        label = "$F$" if name in angles else r"$\mathbf{1}$"
        style.write(axes, label, vector, 8 * vector / np.linalg.norm(vector), color=color)
        if name in angles:
            angle = degrees(atan2(vector[1], vector[0]))
            _draw_arc(axes, angle, 0.5 * size, color, f"{angles[name]:.0f}°")
    _draw_arc(axes, high, 0.3 * size, style.DARK, "θ")
    style.legend_above(figure, {label: {"color": color} for label, color in named.items()})
    ends = pd.DataFrame(vectors, ["x", "y"]).T.rename_axis("algorithm").reset_index()
    values = pd.Series(angles | {"theta": config.theta}, name="value").rename_axis("algorithm")
    numbers = values.reset_index().assign(metric="angle_deg")
    return figure, pd.concat([ends.assign(metric=""), numbers], ignore_index=True)[COLUMNS]


def _direction(angle: float) -> np.ndarray:
    """The vector of length 1 at an angle in degrees."""
    return np.array([cos(radians(angle)), sin(radians(angle))])


def _draw_arc(axes: Axes, angle: float, radius: float, color: str, label: str) -> None:
    """Draw an arc from the vector of ones to a direction, with its size at the middle."""
    low, high = sorted((_DIAGONAL, angle))
    middle = _direction((low + high) / 2)
    axes.add_patch(Arc((0, 0), 2 * radius, 2 * radius, theta1=low, theta2=high, color=color))
    style.write(axes, label, radius * middle, 6 * middle, color=color)
