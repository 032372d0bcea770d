"""One round of two clients with quadratic losses F_k of a model that is one number x (figure 1 of FedEBA+).

Left: both losses, what each client's local step makes of the start, and where each algorithm's run put the next model:
the bar between the losses there is their gap |F_1 - F_2|. Bars between empty marks are the paper's, drawn if nothing
but the seeds differs from its setting and they are at hand. Right: the gap that entropy-based aggregation leaves, by
fairfl.algorithms.fedeba, over its temperature tau, and where it is smallest; what has no tau is a horizontal line.

The losses are the mean squared errors of a x on the clients' training samples (a, b). The options are the
setting's: FedEBA's runs must be where the curve over tau has them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
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


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    setting, rows = inputs.settings[0], inputs.measured()
    toy = _toy(inputs, config, setting)
    ours = {row: _next_model(inputs, toy, setting, row) for row in rows}
    theirs = {row: inputs.reported_point(setting, row, "parameter_0") for row in rows}
    models = [
        (kind, row, row.algorithm, row.hyperparameters, _tau(row), x)
        for kind, points in (("ours", ours), ("paper", theirs))
        for row, x in points.items()
        if x is not None
    ]
    columns = ["kind", "row", "algorithm", "hyperparameters", "tau", "x"]
    marks = pd.DataFrame([("start", None, None, None, None, toy.start), *models], columns=columns)
    marks["gap"] = toy.gap(marks["x"].to_numpy())
    ends = [*marks["x"], *toy.local]
    room = 0.12 * (max(ends) - min(ends))
    x = np.linspace(min(ends) - room, max(ends) + room, 201)
    curves = [
        pd.DataFrame({"kind": "curve", "client": k, "x": x, "loss": loss})
        for k, loss in enumerate(toy.losses(x))
    ]
    local = {"kind": "local", "client": [0, 1], "x": toy.local, "loss": toy.local_losses}
    sweep = _sweep(inputs, toy)
    figure = style.canvas(style.PAGE, 3.1)
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    solid = {"linestyle": "-", "markersize": 4.5}
    looks = {row: look | solid for row, look in style.looks(inputs).items()}
    _draw_losses(left, toy, curves, marks, looks)
    _draw_gaps(right, sweep, marks[marks["kind"] == "ours"], looks)
    figure.legend(loc="outside upper center", ncols=4)
    frame = pd.concat([*curves, pd.DataFrame(local), marks, sweep], ignore_index=True)
    return figure, frame.assign(setting=setting).reindex(columns=COLUMNS)


# -- numbers ----------------------------------------------------------------------------------
def _toy(inputs: Inputs, config: Config, setting: str) -> Toy:
    """The losses of a setting. Raises FairflError unless it has two clients, whose samples are pairs of numbers."""
    samples = inputs.samples(setting, features=("a",)).groupby("client")
    if len(samples) != 2:
        raise FairflError(
            f"{inputs.where}: {setting} has {len(samples)} clients. Expected two with one number each"
        )
    pairs = tuple((own["a"].to_numpy(float), own["class"].to_numpy(float)) for _, own in samples)
    return Toy(pairs, config.start, config.step)


def _next_model(inputs: Inputs, toy: Toy, setting: str, row: ShownRow) -> float | None:
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
    """The gap over tau, from a twentieth to fifty times the difference of the weighed losses; the smallest one last."""
    difference = abs(float(np.diff(toy.local_losses)[0]))
    if difference == 0:
        raise FairflError(
            f"{inputs.where}.options: no tau distinguishes the clients, their local losses are equal"
        )

    def gap(power: float) -> float:
        return float(toy.gap(toy.entropy(float(np.exp(power)))))

    at = np.linspace(np.log(0.05 * difference), np.log(50 * difference), 241)
    lowest = int(np.argmin([gap(power) for power in at]))
    near = (at[max(lowest - 1, 0)], at[min(lowest + 1, len(at) - 1)])
    best = minimize_scalar(gap, bounds=near, method="bounded", options={"xatol": 1e-9}).x
    tau = np.exp([*at, best])
    x = np.array([toy.entropy(float(value)) for value in tau])
    frame = pd.DataFrame(
        {"kind": "tau", "algorithm": "fedeba", "tau": tau, "x": x, "gap": toy.gap(x)}
    )
    frame.loc[len(at), "kind"] = "minimum"
    return frame


# -- drawing ----------------------------------------------------------------------------------
def _draw_losses(
    axes: Axes, toy: Toy, curves: list[pd.DataFrame], marks: pd.DataFrame, looks: dict[ShownRow, style.Look]
) -> None:  # fmt: skip
    for k, (curve, color) in enumerate(zip(curves, style.client_colors(2), strict=True)):
        label = f"$F_{k + 1}$, loss of client {k + 1}"
        axes.plot("x", "loss", data=curve, color=color, label=label)
    start = f"start, gap {toy.gap(toy.start):.2f}"
    axes.axvline(toy.start, color=style.GREY, linestyle=style.dash(2), zorder=1, label=start)
    axes.plot(
        toy.local,
        toy.local_losses,
        "x",
        color=style.DARK,
        markersize=5,
        markeredgewidth=1.5,
        zorder=4,
        label="after each client's step",
    )
    for mark in marks[1:].itertuples():
        look = looks[mark.row] | {
            "linewidth": 1.6,
            "label": f"{mark.row.label}: gap {mark.gap:.2f}",
        }
        if mark.kind == "paper":
            look |= style.HOLLOW | {"label": f"{mark.row.label}, the paper's"}
        axes.plot([mark.x, mark.x], toy.losses(mark.x), zorder=3, **look)
    top = max(toy.local_losses.max(), toy.losses(marks["x"].to_numpy()).max())
    axes.set(xlabel="model x", ylabel="client loss", xmargin=0, ylim=(-0.04 * top, 1.15 * top))


def _draw_gaps(
    axes: Axes, sweep: pd.DataFrame, marks: pd.DataFrame, looks: dict[ShownRow, style.Look]
) -> None:
    line, best = sweep[sweep["kind"] == "tau"], sweep.iloc[-1]
    axes.plot(line["tau"], line["gap"], color=style.algorithm_looks()["fedeba"][0])
    label = f"smallest gap {best['gap']:.2f} at τ = {best['tau']:.3g}"
    axes.plot(
        best["tau"],
        best["gap"],
        "*",
        color=style.DARK,
        markersize=7,
        zorder=4,
        clip_on=False,
        label=label,
    )
    for number, mark in enumerate(marks.itertuples()):
        color = looks[mark.row]["color"]
        if mark.tau == mark.tau:
            axes.plot(mark.tau, mark.gap, zorder=3, **looks[mark.row])
        else:
            axes.axhline(mark.gap, color=color, linestyle=style.dash(1 + number % 3), linewidth=1)
            axes.text(
                1,
                mark.gap,
                mark.row.title,
                color=color,
                va="bottom",
                transform=axes.get_yaxis_transform(),
                ha="right",
            )
    axes.set(xscale="log", xlabel="temperature τ", ylabel="gap $|F_1 - F_2|$", ylim=(0, None))
    axes.xaxis.set_major_formatter("{x:g}")
