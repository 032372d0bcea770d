"""Metrics of each client along training: one column of panels per algorithm, one row per quantity.

Above are training losses, below loss gaps on the validation part, in nats. A line is the mean over seeds, the band
the smallest to the largest seed. A seed that diverges ends the line instead of leaving the mean.
"""

from itertools import product
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.metrics.registry import DIFFER
from fairfl.reporting import style
from fairfl.reporting.frames import panelled
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.notes import seeds_text
from fairfl.runtime.errors import FairflError

NEEDS = ("rounds",)
COLUMNS = [
    "setting",
    "algorithm",
    "hyperparameters",
    "quantity",
    "client",
    "round",
    "mean",
    "low",
    "high",
    "seeds",
]
BANDS = {
    "range": "; band: smallest to largest seed",
    "std": "; band: ± one standard deviation",
}
TITLES = {
    "loss_train": "loss (nats)\ntrain",
    "gap_validation": "loss gap (nats)\nvalidation",
}  # of the lines of panels


class Config(Strict):
    log_x: bool = Field(False, description="logarithmic rounds (round 0 stays in sight)")

    def metrics(self) -> list[str]:
        return ["gap_client_0"]

    def parts(self) -> list[str]:
        return ["train", "validation"]


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    setting = inputs.settings[0]
    rounds = inputs.rounds[inputs.rounds["setting"] == setting]
    rows = inputs.trained(rounds)
    clients = int(rounds["client"].max()) + 1
    names = [f"client {client}" for client in range(clients)]
    if "owner" in rounds:
        if (rounds.groupby("client")["owner"].nunique() > 1).any():
            raise FairflError(f"{inputs.where}: {setting}: {DIFFER}")
        names = rounds.groupby("client")["owner"].first().tolist()

    def draw_one(axes: Axes, panel: tuple[str, ShownRow]) -> pd.DataFrame:
        quantity, row = panel
        frame = over_seeds(row.of(rounds), row, quantity)
        curves(axes, frame, clients, config.log_x)
        if row == rows[0]:
            axes.set_ylabel(TITLES[quantity])
        if quantity == "gap_validation":
            style.zero_line(axes)
        return frame

    titles = {
        (quantity, row): row.label * (quantity == "loss_train")
        for quantity, row in product(TITLES, rows)
    }
    shared: style.Look = {"sharex": True, "sharey": "row"}
    figure, frames = panelled(titles, draw_one, (0.75, 1.35), len(rows), ("round", ""), **shared)
    drawn = pd.concat(frames, ignore_index=True)
    if drawn["mean"].isna().all():
        raise FairflError(f"{inputs.where}: no finite value of {' or '.join(TITLES)} in {setting}")
    style.legend_above(figure, style.client_keys(names))
    if rounds["seed"].nunique() > 1:
        inputs.say(f"Line: mean over {seeds_text(drawn['seeds'])}{BANDS['range']}.")
    return figure, drawn[COLUMNS]


def over_seeds(frame: pd.DataFrame, row: ShownRow, quantity: str) -> pd.DataFrame:
    """Mean and range of one quantity per client and round."""
    result = mean_and_band(
        frame.groupby(["setting", "client", "round"], sort=True)[quantity], "range"
    ).reset_index()
    return result.assign(
        algorithm=row.algorithm, hyperparameters=row.hyperparameters, quantity=quantity
    )


def mean_and_band(groups: Any, band: str) -> pd.DataFrame:
    """Columns mean, low, high, seeds of grouped values, one value per seed in each group; NaN if a seed has none."""
    mean = groups.mean(skipna=False)
    if band == "range":
        low, high = groups.min(skipna=False), groups.max(skipna=False)
    else:
        std = groups.std(ddof=0, skipna=False)
        low, high = mean - std, mean + std
    return pd.DataFrame({"mean": mean, "low": low, "high": high, "seeds": groups.size()})


def banded(axes: Axes, line: pd.DataFrame, alpha: float, **look: Any) -> None:
    """Draw a mean over seeds, and around it the band of several, which is not there at alpha 0."""
    axes.plot(line["round"], line["mean"], **look)
    if alpha and line["seeds"].max() > 1:
        band = line["round"], line["low"], line["high"]
        axes.fill_between(*band, color=look["color"], alpha=alpha, linewidth=0)


def curves(axes: Axes, frame: pd.DataFrame, clients: int, log_x: bool) -> None:
    """One line with its band per client."""
    for client, line in frame.groupby("client"):
        color = style.client_color(int(client), clients)
        banded(axes, line, 0.18, color=color, linewidth=1.3 if clients <= 10 else 0.7)
    if log_x:
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(left=0)
    axes.margins(x=0.02)
