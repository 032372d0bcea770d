"""What projection does to conflicting updates, drawn and computed on a few vectors of the plane; nothing is trained.

Left: each client's update and the plain average. Right: the updates after their conflicts were projected out, and
FedFV's average at the length of the plain one, by fairfl.algorithms.fedfv with alpha = 0 and tau = 0. Both averages are
drawn at the length of a sum. The dashed direction gives every client the same say: the mean of the updates at length 1.
The paper's optimum theta*, from which the plain average leads away, is drawn in that direction.

The CSV holds the cosine of each average (algorithm plain, projected, equal_say) with each client's update, metric
cosine_<client>: below 0 the step takes that client uphill.
"""

from typing import Annotated

import numpy as np
import pandas as pd
import torch
from pydantic import Field, model_validator

from fairfl.algorithms import fedfv
from fairfl.algorithms.interface import Federation, Reports
from fairfl.algorithms.shared.span import Span, gram
from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs

NEEDS = ()
COLUMNS = ["algorithm", "metric", "value", "vector", "x", "y"]


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


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    names = list(config.vectors)
    g = np.array(list(config.vectors.values()))
    h, G = projected(g, config.losses)
    averages = {"plain": g.mean(0), "projected": G, "equal_say": unit(g).mean(0)}
    optimum = unit(averages["equal_say"]) * np.linalg.norm(g, axis=1).min() * 1.6
    colors, sums = style.client_colors(len(g)), {way: len(g) * at for way, at in averages.items()}
    dashes: style.Look = {"color": style.GREY, "linestyle": style.dash(1), "linewidth": 0.9}
    figure = style.canvas(style.COLUMN, 1.75)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    sides = {"plain": ("as they are", g), "projected": ("after projection", h)}
    for axes, (way, (title, vectors)) in zip(panels, sides.items(), strict=True):
        axes.set_title(title)
        axes.plot([0, optimum[0]], [0, optimum[1]], **dashes)
        axes.plot(*optimum, marker="*", markersize=7, color=style.RED)
        # beyond the star, where no arrow ends
        style.write(axes, r"$\theta^*$", optimum, 9 * unit(optimum), color=style.RED)
        for vector, color in zip(vectors, colors, strict=True):
            style.arrow(axes, vector, color, 0.012)
        style.arrow(axes, sums[way], style.DARK, 0.022)
        axes.set_aspect("equal")
        axes.set_axis_off()
    # Arrows do not set limits.
    axes.update_datalim([*g, *h, *sums.values()])
    axes.margins(0.08)
    entries: dict[str, style.Look] = {
        f"client {name}": {"color": c} for name, c in zip(names, colors, strict=True)
    }
    entries |= {f"{len(g)} × average": {"color": style.DARK, "linewidth": 2.2}}
    style.legend_above(figure, entries | {"equal say, to the optimum": dashes})
    return figure, _numbers(names, g, h, averages)


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


def _numbers(
    names: list[str], g: np.ndarray, h: np.ndarray, averages: dict[str, np.ndarray]
) -> pd.DataFrame:
    """COLUMNS of every vector that is drawn, and of the cosine of each average with each client's update."""
    own = [f"{kind}_{name}" for kind in "gh" for name in names]
    vectors = pd.DataFrame([*g, *h, *averages.values()], columns=["x", "y"])
    vectors["vector"] = [*own, *["average"] * len(averages)]
    vectors["algorithm"] = [*[""] * len(own), *averages]
    cosines = [
        (way, f"cosine_{name}", float(unit(average) @ unit(update)))
        for way, average in averages.items()
        for name, update in zip(names, g, strict=True)
    ]
    numbers = pd.DataFrame(cosines, columns=["algorithm", "metric", "value"])
    frames = [vectors.assign(metric=""), numbers.assign(vector="")]
    return pd.concat(frames, ignore_index=True)[COLUMNS]
