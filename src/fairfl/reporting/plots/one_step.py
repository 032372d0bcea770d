"""One round of two clients with quadratic losses F_k of a model that is one number x (figure 1 of FedEBA+).

Left: both losses, what each client's local step makes of the start, and where each algorithm's run put the next model:
the bar between the losses there is their gap |F_1 - F_2|. Bars between empty marks are the paper's, drawn if nothing
but the seeds differs from its setting and they are at hand. Right: the gap that entropy-based aggregation leaves, by
fairfl.algorithms.fedeba, over its temperature tau, and where it is smallest; what has no tau is a horizontal line.

The losses are the mean squared errors of a x on the clients' training samples (a, b). The options are those of the
setting: FedEBA's runs must be where the curve over tau has them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from pydantic import Field
from scipy.optimize import minimize_scalar

from fairfl.algorithms import fedeba
from fairfl.algorithms.interface import Reports
from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, ShownRow, mean_and_std
from fairfl.runtime.errors import FairflError

NEEDS = ("tidy", "data", "reported")
COLUMNS = ["kind", "setting", "algorithm", "hyperparameters", "client", "tau", "x", "loss", "gap"]

_DARK = "#222222"


class Config(Strict):
    start: float = Field(description="the model that both clients receive")
    step: float = Field(gt=0, description="learning rate of the local step")


@dataclass(frozen=True)
class Toy:
    """Two losses F_k(x) = mean_i (a_ki x - b_ki)^2 and one step from a start."""

    samples: tuple[tuple[np.ndarray, np.ndarray], ...]  # a [n_k] and b [n_k] of each client
    start: float
    step: float

    def losses(self, x: Any) -> np.ndarray:
        """F_k at models x [...], [2, ...]."""
        return np.array(
            [np.square(np.multiply.outer(x, a) - b).mean(axis=-1) for a, b in self.samples]
        )

    def gap(self, x: Any) -> Any:
        """|F_1 - F_2| at models x [...]."""
        first, second = self.losses(x)
        return abs(first - second)

    @property
    def local(self) -> np.ndarray:
        """x_k, [2]: the start after each client's step."""
        return np.array(
            [
                self.start - self.step * 2 * np.mean(a * (a * self.start - b))
                for a, b in self.samples
            ]
        )

    @property
    def local_losses(self) -> np.ndarray:
        """A_k, [2]: each client's loss at its own x_k."""
        return np.diagonal(self.losses(self.local)).copy()

    def entropy(self, tau: float) -> float:
        """The next model by entropy-based aggregation."""
        reports = Reports(
            clients=torch.arange(2),
            samples=torch.ones(2, dtype=torch.float64),
            learning_rate=self.step,
            x=torch.tensor([self.start], dtype=torch.float64),
            delta=torch.from_numpy(self.start - self.local).unsqueeze(1),
            loss_after=torch.from_numpy(self.local_losses),
        )
        aggregate, _ = fedeba.FedEBA(fedeba.Config(tau=tau)).aggregate({}, reports)
        assert aggregate.weights is not None
        return float(self.start - aggregate.weights @ reports.delta[:, 0])


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    setting = inputs.settings[0]
    rows = inputs.measured()
    toy = _toy(inputs, config, setting)
    runs = {row: model for row in rows if (model := _next(inputs, toy, setting, row)) is not None}
    paper = {
        row: at
        for row in rows
        if (at := inputs.reported_point(setting, row, "parameter_0")) is not None
    }
    models = [toy.start, *toy.local, *runs.values(), *paper.values()]
    room = 0.12 * (max(models) - min(models))
    x = np.linspace(min(models) - room, max(models) + room, 201)
    sweep = _sweep(inputs, toy)
    looks = {
        row: look | {"linestyle": "-", "markersize": 4.5}
        for row, look in style.looks(inputs).items()
    }
    figure = style.canvas(style.PAGE, 3.1)
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    _losses_panel(left, toy, x, runs, paper, looks)
    _tau_panel(right, sweep, {row: toy.gap(at) for row, at in runs.items()}, looks)
    style.legend_above(figure, columns=4)
    frame = pd.concat([_drawn(toy, x, runs, paper), sweep], ignore_index=True)
    return figure, frame.assign(setting=setting).reindex(columns=COLUMNS)


# -- numbers ----------------------------------------------------------------------------------
def _toy(inputs: Inputs, config: Config, setting: str) -> Toy:
    """Raises FairflError unless the setting has two clients, whose samples are pairs of numbers."""
    samples = inputs.samples(setting, features=("a",)).groupby("client")
    if len(samples) != 2:
        raise FairflError(
            f"{inputs.where}: {setting} has {len(samples)} clients. Expected two with one number each"
        )
    pairs = tuple((own["a"].to_numpy(float), own["class"].to_numpy(float)) for _, own in samples)
    return Toy(pairs, config.start, config.step)


def _next(inputs: Inputs, toy: Toy, setting: str, row: ShownRow) -> float | None:
    """The next model of a row's run, None if it diverged. Raises FairflError if the run had other options."""
    x, _ = mean_and_std(inputs.cell(setting, row, "parameter_0"))
    if not np.isfinite(x):
        inputs.remark("Diverged, not drawn", [row.label])
        return None
    if (tau := _tau(row)) and not np.isclose(x, toy.entropy(tau), rtol=1e-3, atol=1e-4):
        expected = f"start {toy.start:g} and step {toy.step:g}, {toy.entropy(tau):.4g}"
        raise FairflError(f"{inputs.where}.options: {row.label} went to {x:.4g}; by {expected}")
    return x


def _tau(row: ShownRow) -> float | None:
    """The temperature of a row that is on the curve over tau."""
    values = dict(row.variant.values)
    return float(values["tau"]) if row.algorithm == "fedeba" and set(values) == {"tau"} else None


def _sweep(inputs: Inputs, toy: Toy) -> pd.DataFrame:
    """The gap over tau: from a twentieth to fifty times the difference of the weighed losses; the smallest one last."""
    difference = abs(float(np.diff(toy.local_losses)[0]))
    if difference == 0:
        raise FairflError(
            f"{inputs.where}.options: no tau tells the clients apart, their local losses are equal"
        )

    def left(power: float) -> float:
        return float(toy.gap(toy.entropy(float(np.exp(power)))))

    at = np.linspace(np.log(0.05 * difference), np.log(50 * difference), 241)
    lowest = int(np.argmin([left(power) for power in at]))
    near = (at[max(lowest - 1, 0)], at[min(lowest + 1, len(at) - 1)])
    best = minimize_scalar(left, bounds=near, method="bounded", options={"xatol": 1e-9}).x
    tau = np.exp([*at, best])
    x = np.array([toy.entropy(float(value)) for value in tau])
    kind = ["tau"] * len(at) + ["minimum"]
    return pd.DataFrame(
        {"kind": kind, "algorithm": "fedeba", "tau": tau, "x": x, "gap": toy.gap(x)}
    )


def _drawn(
    toy: Toy, x: np.ndarray, runs: dict[ShownRow, float], paper: dict[ShownRow, float]
) -> pd.DataFrame:
    """What the left panel shows: curves, the start, local models and next models."""
    curves = [
        pd.DataFrame({"kind": "curve", "client": k, "x": x, "loss": F})
        for k, F in enumerate(toy.losses(x))
    ]
    local = pd.DataFrame(
        {"kind": "local", "client": [0, 1], "x": toy.local, "loss": toy.local_losses}
    )
    marks: list[tuple[Any, ...]] = [("start", None, None, None, toy.start)]
    for kind, points in (("ours", runs), ("paper", paper)):
        marks += [
            (kind, row.algorithm, row.hyperparameters, _tau(row), at) for row, at in points.items()
        ]
    shown = pd.DataFrame(marks, columns=["kind", "algorithm", "hyperparameters", "tau", "x"])
    return pd.concat([*curves, local, shown.assign(gap=toy.gap(shown["x"].to_numpy()))])


# -- drawing ----------------------------------------------------------------------------------
def _losses_panel(
    axes: Axes,
    toy: Toy,
    x: np.ndarray,
    runs: dict[ShownRow, float],
    paper: dict[ShownRow, float],
    looks: dict[ShownRow, style.Look],
) -> None:
    for k, curve in enumerate(toy.losses(x)):
        axes.plot(
            x, curve, color=style.client_color(k, 2), label=f"$F_{k + 1}$, loss of client {k + 1}"
        )
    start = f"start, gap {toy.gap(toy.start):.2f}"
    axes.axvline(
        toy.start, color=style.GREY, linestyle=style.dash(2), linewidth=0.9, zorder=1, label=start
    )
    cross: style.Look = {
        "color": _DARK,
        "markersize": 5,
        "markeredgewidth": 1.5,
        "label": "after each client's step",
    }
    axes.plot(toy.local, toy.local_losses, "x", zorder=4, **cross)
    for row, at in runs.items():
        label = f"{row.label}: gap {toy.gap(at):.2f}"
        axes.plot([at, at], toy.losses(at), zorder=3, label=label, linewidth=1.6, **looks[row])
    for number, (row, at) in enumerate(paper.items()):
        look = (
            looks[row] | style.HOLLOW | {"linewidth": 0.6, "label": "" if number else "the paper's"}
        )
        axes.plot([at, at], toy.losses(at), zorder=3, **look)
    shown = [toy.start, *runs.values(), *paper.values()]
    top = max(toy.local_losses.max(), toy.losses(np.array(shown)).max())
    axes.set(
        xlabel="model x", ylabel="client loss", xlim=(x[0], x[-1]), ylim=(-0.04 * top, 1.15 * top)
    )


def _tau_panel(
    axes: Axes, sweep: pd.DataFrame, gaps: dict[ShownRow, float], looks: dict[ShownRow, style.Look]
) -> None:
    line, best = sweep[sweep["kind"] == "tau"], sweep.iloc[-1]
    axes.plot(line["tau"], line["gap"], color=style.algorithm_looks()["fedeba"][0])
    label = f"smallest gap {best['gap']:.2f} at τ = {best['tau']:.3g}"
    axes.plot(
        best["tau"],
        best["gap"],
        "*",
        color=_DARK,
        markersize=7,
        label=label,
        zorder=4,
        clip_on=False,
    )
    for number, (row, gap) in enumerate(gaps.items()):
        if tau := _tau(row):
            axes.plot(tau, gap, zorder=3, **looks[row])
        else:
            color = looks[row]["color"]
            axes.axhline(gap, color=color, linestyle=style.dash(1 + number % 3), linewidth=1)
            axes.text(
                1,
                gap,
                row.title,
                color=color,
                ha="right",
                va="bottom",
                transform=axes.get_yaxis_transform(),
            )
    axes.set(xscale="log", xlabel="temperature τ", ylabel="gap $|F_1 - F_2|$", ylim=(0, None))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
