"""A metric over the clients along training, such as the mean of their accuracies: one line per row of the artifact.

A line is the mean over seeds, the band the smallest to the largest seed (or mean ± std). A seed that diverges ends
the line instead of leaving the mean. Colour is the algorithm, the dashes tell its rows apart. Thin lines with circles
are the paper's own curves, drawn if nothing but the seeds differs from its setting and its numbers are at hand. The
metric is the artifact's column, in the unit that the paper prints.
"""

from collections import Counter
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.artifacts import style
from fairfl.artifacts.inputs import Inputs, Row
from fairfl.artifacts.plots.client_curves import BANDS, mean_and_band
from fairfl.artifacts.units import factor
from fairfl.errors import FairflError
from fairfl.metrics.registry import METRICS, measured
from fairfl.spec.base import Strict
from fairfl.spec.strict import nearest

NEEDS = ("rounds", "reported")
COLUMNS = (
    "kind", "setting", "algorithm", "hyperparameters", "metric", "round", "mean", "low", "high", "seeds",
)  # fmt: skip

_PAPER: dict[str, Any] = {
    "marker": "o", "markersize": 2.6, "markerfacecolor": "none", "markeredgewidth": 0.6, "linewidth": 0.5, "alpha": 0.8,
}  # fmt: skip


class Config(Strict):
    part: Literal["train", "validation", "test"] = Field("test", description="part on which the clients are measured")
    band: Literal["range", "std", "none"] = Field("range", description="spread over seeds around the mean")
    y_label: str = Field("", description="title of the vertical axis; empty: name and unit of the metric")


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    setting, metric = inputs.settings[0], inputs.spec["artifact"]["columns"][0]
    described = inputs.spec["metrics"][metric]
    rounds = inputs.rounds[inputs.rounds["setting"] == setting]
    rows = inputs.present(rounds)
    values = along_training(rounds, metric, described["unit"], config.part)
    figure = style.canvas(style.PAGE if len(rows) > 6 else style.COLUMN, 2.9)
    axes = figure.add_subplot()
    frames, handles = [], []
    for row, look in looks(inputs, rows).items():
        names: dict[str, Any] = {"setting": setting, "algorithm": row.algorithm, "metric": metric}
        names["hyperparameters"] = row.hyperparameters
        frame = mean_and_band(row.of(values).groupby("round")["value"], config.band).reset_index()
        _curve(axes, frame, look)
        frames.append(frame.assign(kind="ours", **names))
        handles.append(style.key(label=row.label, **look))
        paper = inputs.reported_for(setting, row, f"{metric}_curve")
        if inputs.comparable(setting) and len(paper):
            axes.plot(paper["round"].astype(int), paper["value"], **look, **_PAPER)
            paper = paper.rename(columns={"value": "mean"})
            frames.append(paper[["round", "mean"]].assign(kind="paper", **names))
    drawn = pd.concat(frames, ignore_index=True)
    if drawn["mean"].isna().all():
        raise FairflError(f"{inputs.name}: no finite value of {metric} in {setting}")
    if "paper" in set(drawn["kind"]):
        handles.append(style.key(style.GREY, "the paper's", **_PAPER))
    axes.set(xlabel="round", ylabel=config.y_label or f"{described['name']} ({described['unit']})")
    axes.margins(x=0.02)
    style.legend_above(figure, handles, 4 if len(rows) > 6 else 2)
    if rounds["seed"].nunique() > 1:
        inputs.say(f"Line: mean over seeds{BANDS[config.band]}.")
    return figure, drawn.reindex(columns=list(COLUMNS))


def along_training(rounds: pd.DataFrame, metric: str, unit: str, part: str) -> pd.DataFrame:
    """One line per run and evaluated round: algorithm, hyperparameters, seed, round, value in `unit`.

    Raises FairflError if the metric is not one of a run's clients.
    """
    if metric not in METRICS or METRICS[metric][1] == "gap":
        known = [name for name, (_, vector, _) in METRICS.items() if vector != "gap"]
        raise FairflError(f"columns: {metric!r} cannot be drawn along training{nearest(metric, known)}")
    own, vector, function = METRICS[metric]
    clients = measured(rounds, part)[vector]
    keys = ["algorithm", "hyperparameters", "seed", "round"]
    groups = clients.groupby([rounds.loc[clients.index, key] for key in keys], sort=True)
    return (groups.agg(lambda values: function(values.to_numpy(float))) * factor(own, unit)).reset_index(name="value")


def looks(inputs: Inputs, rows: list[Row]) -> dict[Row, dict[str, Any]]:
    """Colour by algorithm, dashes by place among the algorithm's rows."""
    colors = style.algorithm_colors(list(inputs.spec["algorithms"]))
    seen: Counter[str] = Counter()
    found = {}
    for row in rows:
        found[row] = {"color": colors[row.algorithm], "linestyle": style.dash(seen[row.algorithm])}
        seen[row.algorithm] += 1
    return found


def _curve(axes: Axes, frame: pd.DataFrame, look: dict[str, Any]) -> None:
    axes.plot(frame["round"], frame["mean"], linewidth=1.2, **look)
    if frame["seeds"].max() > 1:
        axes.fill_between(frame["round"], frame["low"], frame["high"], color=look["color"], alpha=0.12, linewidth=0)
