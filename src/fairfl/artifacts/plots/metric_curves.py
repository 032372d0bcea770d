"""Metrics over the clients along training, such as the mean of their accuracies: a line per row of the artifact.

Each column of the artifact is a metric with its own panel, in the unit that the paper prints. A line is the mean over
seeds, the band the smallest to the largest seed (or mean ± std). A seed that diverges ends the line instead of leaving
the mean. Colour is the algorithm, the dashes tell its rows apart. Thin lines with circles are the paper's own curves,
drawn if nothing but the seeds differs from its setting and its numbers are at hand.
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
    y_labels: dict[str, str] = Field(
        default_factory=dict,
        description="column -> title of its vertical axis; others have name and unit of the metric",
    )
    log: list[str] = Field(default_factory=list, description="columns with a logarithmic vertical axis")


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    setting, metrics = inputs.settings[0], inputs.spec["artifact"]["columns"]
    for name in (*config.y_labels, *config.log):
        if name not in metrics:
            raise FairflError(f"{inputs.name}: options: {name!r} is not one of the columns{nearest(name, metrics)}")
    rounds = inputs.rounds[inputs.rounds["setting"] == setting]
    found = looks(inputs, inputs.present(rounds))
    wide = len(found) > 6 or len(metrics) > 1
    figure = style.canvas(style.PAGE if wide else style.COLUMN, 2.9)
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    drawn = pd.concat(
        [_panel(axes, inputs, config, rounds, metric, found) for axes, metric in zip(panels, metrics, strict=True)],
        ignore_index=True,
    )
    handles = [style.key(label=row.label, **look) for row, look in found.items()]
    if "paper" in set(drawn["kind"]):
        handles.append(style.key(style.GREY, "the paper's", **_PAPER))
    style.legend_above(figure, handles, (4 if len(handles) > 6 else len(handles)) if wide else 2)
    if rounds["seed"].nunique() > 1:
        inputs.say(f"Line: mean over seeds{BANDS[config.band]}.")
    return figure, drawn.reindex(columns=list(COLUMNS))


def _panel(
    axes: Axes, inputs: Inputs, config: Config, rounds: pd.DataFrame, metric: str, found: dict[Row, dict[str, Any]]
) -> pd.DataFrame:
    """Draw one metric; the lines that it shows."""
    setting, described = inputs.settings[0], inputs.spec["metrics"][metric]
    values = along_training(rounds, metric, described["unit"], config.part)
    frames = []
    for row, look in found.items():
        names: dict[str, Any] = {"setting": setting, "algorithm": row.algorithm, "metric": metric}
        names["hyperparameters"] = row.hyperparameters
        frame = mean_and_band(row.of(values).groupby("round")["value"], config.band).reset_index()
        _curve(axes, frame, look)
        frames.append(frame.assign(kind="ours", **names))
        paper = inputs.reported_for(setting, row, f"{metric}_curve")
        if inputs.comparable(setting) and len(paper):
            axes.plot(paper["round"].astype(int), paper["value"], **look, **_PAPER)
            paper = paper.rename(columns={"value": "mean"})
            frames.append(paper[["round", "mean"]].assign(kind="paper", **names))
    drawn = pd.concat(frames, ignore_index=True)
    if drawn["mean"].isna().all():
        raise FairflError(f"{inputs.name}: no finite value of {metric} in {setting}")
    axes.set(xlabel="round", ylabel=config.y_labels.get(metric) or f"{described['name']} ({described['unit']})")
    axes.margins(x=0.02)
    if metric in config.log:
        style.log_axis(axes)
    return drawn


def along_training(rounds: pd.DataFrame, metric: str, unit: str, part: str) -> pd.DataFrame:
    """One line per run and evaluated round: algorithm, hyperparameters, seed, round, value in `unit`.

    Raises FairflError if the metric is not one of a run's clients, or the runs did not evaluate the part.
    """
    known = [name for name, (_, vector, _) in METRICS.items() if vector in ("loss", "accuracy", "recall")]
    if metric not in known:
        raise FairflError(f"columns: {metric!r} cannot be drawn along training{nearest(metric, known)}")
    if f"loss_{part}" not in rounds:
        raise FairflError(f"options.part: the runs have no evaluation on {part!r}")
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
