"""What projection does to conflicting updates, drawn and computed on a few vectors of the plane; nothing is trained.

Left: each client's update and the plain average. Right: the updates after their conflicts were projected out, and
FedFV's average at the length of the plain one, by fairfl.algorithms.fedfv with alpha = 0 and tau = 0. Both averages are
drawn at the length of a sum. The dashed direction gives every client the same say: the mean of the updates at length 1.
The paper's optimum theta*, from which the plain average leads away, is drawn in that direction.

The CSV holds the cosine of each average (algorithm plain, projected, equal_say) with each client's update, metric
cosine_<client>: below 0 the step takes that client uphill.
"""

from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field, model_validator

from fairfl.algorithms import fedfv
from fairfl.algorithms.interface import Federation, Reports
from fairfl.algorithms.shared.span import Span, gram
from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs

NEEDS = ()
COLUMNS = ["algorithm", "metric", "value", "vector", "x", "y"]
_AVERAGE = "#222222"


class Config(Strict):
    vectors: dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]] = Field(
        min_length=2, description="client -> its update direction"
    )
    losses: list[float] = Field(description="training loss of each client; the order of projection")

    @model_validator(mode="after")
    def _losses(self) -> "Config":
        if len(self.losses) != len(self.vectors):
            raise ValueError(f"losses: {len(self.losses)} numbers for {len(self.vectors)} vectors")
        return self


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    names = list(config.vectors)
    g = np.array(list(config.vectors.values()))
    h, G = projected(g, config.losses)
    averages = {"plain": g.mean(0), "projected": G, "equal_say": unit(g).mean(0)}
    figure = style.canvas(style.COLUMN, 1.75)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    ends = unit(averages["equal_say"]) * np.linalg.norm(g, axis=1).min() * 1.6
    drawn = {"plain": ("as they are", g), "projected": ("after projection", h)}
    for axes, (way, (title, vectors)) in zip(panels, drawn.items(), strict=True):
        axes.set_title(title)
        axes.plot(
            [0, ends[0]], [0, ends[1]], color=style.GREY, linestyle=style.dash(1), linewidth=0.9
        )
        axes.plot(*ends, marker="*", markersize=7, color=style.RED, linestyle="none")
        style.write(
            axes, r"$\theta^*$", ends, 9 * unit(ends), color=style.RED
        )  # beyond the star, where no arrow ends
        for k, vector in enumerate(vectors):
            style.arrow(axes, vector, style.client_color(k, len(g)), 1.2)
        style.arrow(axes, len(g) * averages[way], _AVERAGE, 2.2)
        axes.set_aspect("equal")
        axes.set_axis_off()
    _frame(panels[0], np.concatenate([g, h, [len(g) * averages["projected"], ends]]))
    handles = [
        style.key(style.client_color(k, len(g)), f"client {name}") for k, name in enumerate(names)
    ]
    handles.append(style.key(_AVERAGE, f"{len(g)} × average", linewidth=2.2))
    handles.append(
        style.key(style.GREY, "equal say, to the optimum", linestyle=style.dash(1), linewidth=0.9)
    )
    style.legend_above(figure, handles, 3)
    return figure, _numbers(
        dict(zip(names, g, strict=True)), dict(zip(names, h, strict=True)), averages
    )


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors [..., 2] at length 1."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def projected(g: np.ndarray, losses: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """h [m, 2], each update without its conflicts, and FedFV's step G [2], for updates g [m, 2]."""
    m, algorithm = len(g), fedfv.FedFV(fedfv.Config(alpha=0.0, tau=0))
    reports = Reports(
        clients=torch.arange(m),
        samples=torch.ones(m, dtype=torch.float64),
        learning_rate=1.0,
        x=torch.zeros(2, dtype=torch.float64),
        loss_received=torch.tensor(losses, dtype=torch.float64),
        delta=torch.from_numpy(g),
    )
    order = fedfv.projection_order(reports, algorithm.config.order)
    h = fedfv.mitigate_internal_conflicts(Span(gram(reports.delta)), order, keep=[]).numpy() @ g
    state = algorithm.init_state(Federation(reports.samples, reports.x))
    step, _ = algorithm.aggregate(state, reports)
    assert step.weights is not None
    return h, step.weights.numpy() @ g


def _frame(axes: Axes, points: np.ndarray) -> None:
    """Limits around the points and the origin; arrows do not set them."""
    low, high = np.minimum(points.min(axis=0), 0), np.maximum(points.max(axis=0), 0)
    room = 0.08 * (high - low).max()
    axes.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))


def _numbers(
    g: dict[str, np.ndarray], h: dict[str, np.ndarray], averages: dict[str, np.ndarray]
) -> pd.DataFrame:
    """Every vector that is drawn, and the cosine of each average with each client's update."""
    vectors = [("", f"g_{name}", v) for name, v in g.items()] + [
        ("", f"h_{name}", v) for name, v in h.items()
    ]
    vectors += [(way, "average", v) for way, v in averages.items()]
    records: list[dict[str, Any]] = [
        {"algorithm": way, "metric": "", "vector": name, "x": x, "y": y}
        for way, name, (x, y) in vectors
    ]
    for way, average in averages.items():
        cosines = {
            f"cosine_{name}": float(unit(average) @ unit(update)) for name, update in g.items()
        }
        records += [
            {"algorithm": way, "metric": name, "value": value, "vector": ""}
            for name, value in cosines.items()
        ]
    return pd.DataFrame(records, columns=COLUMNS)
