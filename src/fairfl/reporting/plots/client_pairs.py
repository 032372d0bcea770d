"""Whom a method helps: each client's accuracy with the artifact's `baseline` (horizontal) and with a method (vertical).

One panel per row of the artifact. A mark is a client of one seed, above the diagonal if it has gained. The dotted line
is the baseline's mean; above a panel stand, of the clients below it, the share that rises, and of those above it the
share that falls (means over seeds of `improved_suffering_pct` and `degraded_well_pct`). Where either run diverged,
nothing is drawn.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairfl.experiments.base import Labelled
from fairfl.judgement.units import factor
from fairfl.metrics.registry import AGAINST
from fairfl.reporting import style
from fairfl.reporting.frames import panelled
from fairfl.reporting.inputs import Inputs, NoRunsError, Row
from fairfl.reporting.plots.gap_boxes import finite, of_clients
from fairfl.runtime.errors import FairflError

NEEDS = ("tidy",)
COLUMNS = ["setting", "algorithm", "hyperparameters", "seed", "client", "baseline", "accuracy"]
FAMILY = "accuracy_client"


class Config(Labelled):
    def metrics(self) -> list[str]:
        return ["accuracy_client_0"]


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    if inputs.spec.artifact.baseline is None:
        raise FairflError(
            f"{inputs.where}.baseline: missing. Expected a variant. Try: {{algorithm: fedavg}}"
        )
    variant = inputs.spec.artifact.baseline.variant
    baseline = Row(variant, inputs.spec.algorithms.get(variant.algorithm, variant.algorithm))
    measured, names = inputs.measured(), inputs.titles
    cells: dict[tuple[str, Row], pd.DataFrame] = {}
    titles: dict[tuple[str, Row], str] = {}
    for setting in names:
        for row in inputs.rows_in(setting):
            if (
                row.variant != variant
                and row in measured
                and len(pairs := _pairs(inputs, setting, row, baseline))
            ):
                cells[setting, row] = pairs
                titles[setting, row] = (
                    f"{row.label}, {names[setting]}" if len(names) > 1 else row.label
                )
    if not cells:
        raise NoRunsError("Not run at this scale.")
    looks = style.looks(inputs)
    drawn = pd.concat(cells.values(), ignore_index=True)[COLUMNS]
    low = max(0, drawn[["baseline", "accuracy"]].min(axis=None) - 5)

    def draw_one(axes: Axes, key: tuple[str, Row]) -> pd.DataFrame:
        axes.set_title(axes.get_title("left"), pad=14)
        axes.set(xlim=(low, 100), ylim=(low, 100))
        _panel(axes, cells[key], looks[key[1]]["color"])
        return cells[key]

    labels = f"with {baseline.label} (percent)", "with the method (percent)"
    figure, _ = panelled(titles, draw_one, (0.5, 1.8), 4, labels, sharex=True, sharey=True)
    inputs.say(
        f"Dotted: the mean with {baseline.label}; how many clients below it rise, and above it fall."
    )
    return figure, drawn


def _pairs(inputs: Inputs, setting: str, row: Row, baseline: Row) -> pd.DataFrame:
    """COLUMNS of the clients and seeds for which both accuracies are finite, percent."""
    theirs, ours = (
        of_clients(inputs, setting, one, FAMILY).rename(columns={"value": name})
        for one, name in ((baseline, "baseline"), (row, "accuracy"))
    )
    pairs = ours.merge(theirs[["seed", "client", "baseline"]], on=["seed", "client"])
    pairs = finite(inputs, pairs, row, ["accuracy", "baseline"])
    scale = pairs["unit"].map(lambda unit: factor(unit, "percent"))
    return pairs.assign(accuracy=pairs["accuracy"] * scale, baseline=pairs["baseline"] * scale)


def _panel(axes: Axes, pairs: pd.DataFrame, color: str) -> None:
    axes.scatter(
        pairs["baseline"],
        pairs["accuracy"],
        s=6,
        color=color,
        alpha=0.7,
        linewidths=0,
        clip_on=False,
    )
    axes.plot([0, 100], [0, 100], style.GREY, linewidth=0.7, zorder=1)
    axes.axvline(pairs["baseline"].mean(), color=style.GREY, linewidth=0.7, linestyle=":", zorder=1)
    seeds = [
        (one["accuracy"].to_numpy(), one["baseline"].to_numpy()) for _, one in pairs.groupby("seed")
    ]
    rise, fall = (
        np.mean([AGAINST[name][1](*one) for one in seeds])
        for name in ("improved_suffering_pct", "degraded_well_pct")
    )
    words = f"{rise:.0f}% rise, {fall:.0f}% fall"
    axes.text(0, 1.02, words, transform=axes.transAxes, fontsize=6.5, color="#555555", va="bottom")
    axes.set_aspect("equal")
