"""Metrics of each client along training: one column of panels per algorithm, one row per quantity.

Above are training losses, below loss gaps on the validation part, in nats. A line is the mean over seeds, the band
the smallest to the largest seed. A seed that diverges ends the line instead of leaving the mean.
"""

from itertools import product
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.metrics.registry import DIFFER
from fairfl.reporting import style
from fairfl.reporting.footer import seeds_text
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.panels import panels
from fairfl.runtime.errors import FairflError

NEEDS = ("rounds",)
COLUMNS = [
    "setting", "algorithm", "hyperparameters", "quantity", "client", "round", "mean", "low", "high", "seeds",
]  # fmt: skip
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


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    setting = inputs.settings[0]
    rounds = inputs.rounds[inputs.rounds["setting"] == setting]
    rows = inputs.trained(rounds)
    names = [f"client {client}" for client in range(int(rounds["client"].max()) + 1)]
    if "owner" in rounds:
        if (rounds.groupby("client")["owner"].nunique() > 1).any():
            raise FairflError(f"{inputs.where}: {setting}: {DIFFER}")
        names = rounds.groupby("client")["owner"].first().tolist()
    cells = product(TITLES, rows)
    frame = pd.concat(
        [over_seeds(row.of(rounds), row, quantity) for quantity, row in cells], ignore_index=True
    )
    if frame["mean"].isna().all():
        raise FairflError(f"{inputs.where}: no finite value of {' or '.join(TITLES)} in {setting}")

    def draw_panel(axes: Axes, numbers: pd.DataFrame) -> None:
        draw_curves(axes, numbers, len(names), config.log_x)
        if numbers["quantity"].iloc[0] == "gap_validation":
            axes.axhline(0, **style.ZERO)

    titles = {("loss_train", row.label): row.label for row in rows}
    grid = panels(frame, draw_panel, titles, 1.35, row="quantity", col="line", sharey="row")
    grid.set_xlabels("round")
    for axes, title in zip(grid.axes[:, 0], TITLES.values(), strict=True):
        axes.set_ylabel(title)
    style.legend_above(grid.figure, style.client_keys(names))
    if rounds["seed"].nunique() > 1:
        inputs.say(f"Line: mean over {seeds_text(frame['seeds'])}{BANDS['range']}.")
    return grid.figure, frame[COLUMNS]


def over_seeds(frame: pd.DataFrame, row: ShownRow, quantity: str) -> pd.DataFrame:
    """Mean and range of one quantity per client and round."""
    result = mean_and_band(
        frame.groupby(["setting", "client", "round"], sort=True)[quantity], "range"
    ).reset_index()
    return result.assign(
        quantity=quantity,
        line=row.label,
        algorithm=row.algorithm,
        hyperparameters=row.hyperparameters,
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


def draw_curve(axes: Axes, line: pd.DataFrame, alpha: float, **look: Any) -> None:
    """Draw a mean over seeds, and around it the band."""
    axes.plot("round", "mean", data=line, **look)
    axes.fill_between(
        "round", "low", "high", data=line, color=look["color"], alpha=alpha, linewidth=0
    )


def draw_curves(axes: Axes, frame: pd.DataFrame, clients: int, log_x: bool) -> None:
    """Draw a line with its band for each client."""
    colors = style.client_colors(clients)
    for client, line in frame.groupby("client"):
        draw_curve(axes, line, 0.18, color=colors[client], linewidth=1.3 if clients <= 10 else 0.7)
    if log_x:
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(left=0)
