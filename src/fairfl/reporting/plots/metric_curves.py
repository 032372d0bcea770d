"""Metrics over the clients along training, such as the mean of their accuracies: a line per row of the artifact.

Each column of the artifact is a metric with its own panel, in the unit that the paper prints: side by side in one
setting; with several settings they are the lines of a grid whose columns are the settings, or the other way round. A
line is the mean over seeds, the band the smallest to the largest seed (or mean ± std). A seed that diverges ends the
line instead of leaving the mean. Colour, marker and dashes are the algorithm's, or colour and marker the value of a
hyper-parameter; rows of one algorithm have its hue. Thin lines with circles
are the paper's own curves, drawn if nothing but the seeds differs from its setting and its numbers are at hand.
"""

from collections import Counter
from collections.abc import Hashable
from functools import partial
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Labelled
from fairfl.judgement.units import factor
from fairfl.metrics.registry import METRICS, measured
from fairfl.reporting import style
from fairfl.reporting.frames import metric_grid
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.notes import seeds_text
from fairfl.reporting.plots.client_curves import BANDS, banded, mean_and_band
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import nearest

NEEDS = ("rounds", "reported")
DRAWS_COLUMNS = ALONG_TRAINING = True
COLUMNS = [
    "kind", "setting", "algorithm", "hyperparameters", "metric", "round", "mean", "low", "high", "seeds",
]  # fmt: skip

BANDS_OF = 6  # lines: bands of more cover one another
_PAPER: style.Look = {
    "marker": "o", "markersize": 2.6, "markerfacecolor": "none", "markeredgewidth": 0.6, "linewidth": 0.5, "alpha": 0.8,
}  # fmt: skip


class Config(Labelled):
    part: Literal["train", "validation", "test"] = Field(
        "test", description="part on which the clients are measured"
    )
    band: Literal["range", "std"] = Field("range", description="spread over seeds around the mean")
    y_labels: dict[str, str] = Field(
        default_factory=dict,
        description="column -> title of its vertical axis; others have name and unit of the metric",
    )
    color_by: str | None = Field(
        None,
        description="hyper-parameter whose values have their own colours; null: algorithms have, rows shades",
    )
    down: Literal["metric", "setting"] = Field(
        "metric", description="what the lines of the grid are"
    )

    def columns(self) -> list[str]:
        return list(self.y_labels)

    def keys(self) -> list[str]:
        return [self.color_by] if self.color_by else []

    def parts(self) -> list[str]:
        return [self.part]


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    look_of = looks(inputs, inputs.trained(inputs.rounds), config.color_by)
    turned, many = len(inputs.titles) == 1 or config.down == "setting", len(look_of) > 6

    draw_one = partial(_panel, inputs, config, look_of)
    figure, frames = metric_grid(
        inputs, inputs.titles, draw_one, (1.0, 1.9), "round", config.y_labels, turned, many
    )
    drawn = pd.concat(frames, ignore_index=True)
    first = [row.algorithm for row in look_of]
    together = sorted(look_of, key=lambda row: first.index(row.algorithm))  # rows of one algorithm
    handles = [style.key(label=row.label, **look_of[row]) for row in together]
    if "paper" in set(drawn["kind"]):
        handles.append(style.key(style.GREY, "the paper's", **_PAPER))
    wide = figure.get_figwidth() > style.COLUMN
    style.legend_above(figure, handles, (4 if len(handles) > 6 else len(handles)) if wide else 2)
    if inputs.rounds["seed"].nunique() > 1:
        band = BANDS[config.band] if len(look_of) <= BANDS_OF else ""
        inputs.say(f"Line: mean over {seeds_text(drawn['seeds'])}{band}.")
    return figure, drawn.reindex(columns=COLUMNS)


def _panel(
    inputs: Inputs,
    config: Config,
    look_of: dict[ShownRow, style.Look],
    axes: Axes,
    setting: str,
    metric: str,
) -> pd.DataFrame:
    """Draw one metric of one setting; the lines that it shows, none if no row was run there."""
    rounds = inputs.rounds[inputs.rounds["setting"] == setting]
    rows = {
        row: look
        for row, look in look_of.items()
        if row in inputs.rows_in(setting) and not row.of(rounds).empty
    }
    if not rows:
        return pd.DataFrame()
    unit = inputs.spec.metrics[metric].unit
    values = along_training(rounds, metric, unit, config.part).assign(setting=setting)
    frames = []
    for number, (row, look) in enumerate(rows.items()):
        names = {**row.names(setting), "metric": metric}
        frame = mean_and_band(row.of(values).groupby("round")["value"], config.band).reset_index()
        alpha = 0.12 * (len(rows) <= BANDS_OF)
        banded(axes, frame, alpha, linewidth=1.2, **style.sparse(number, len(rows), look))
        frames.append(frame.assign(kind="ours", **names))
        paper = pd.DataFrame(inputs.reported_curve(setting, row, metric), columns=["round", "mean"])
        if len(paper):
            axes.plot(paper["round"], paper["mean"], **look | _PAPER)
            frames.append(paper.assign(kind="paper", **names))
    drawn = pd.concat(frames, ignore_index=True)
    if drawn["mean"].isna().all():
        raise FairflError(f"{inputs.where}: no finite value of {metric} in {setting}")
    axes.margins(x=0.02)
    style.within_bounds(axes, y=unit)
    return drawn


def along_training(rounds: pd.DataFrame, metric: str, unit: str, part: str) -> pd.DataFrame:
    """One line per run and evaluated round: algorithm, hyperparameters, seed, round, value in `unit`."""
    measured_in, vector, function = METRICS[metric]
    clients = measured(rounds, part)[vector]
    keys = ["algorithm", "hyperparameters", "seed", "round"]
    groups = clients.groupby([rounds.loc[clients.index, key] for key in keys], sort=True)
    values = groups.agg(lambda group: function(group.to_numpy(float))) * factor(measured_in, unit)
    return values.reset_index(name="value")


def looks(inputs: Inputs, rows: list[ShownRow], color_by: str | None) -> dict[ShownRow, style.Look]:
    """Looks of the algorithms; or colour and marker by value of a hyper-parameter, dashes by place among its rows.

    Raises FairflError if no row has the hyper-parameter.
    """
    if color_by is None:
        own = style.looks(inputs)
        return {row: own[row] for row in rows}
    known = {key for row in inputs.rows for key, _ in row.variant.values}
    if color_by not in known:
        raise FairflError(
            f"{inputs.where}.options.color_by: no row has {color_by!r}{nearest(color_by, known)}"
        )
    value_of: dict[ShownRow, Hashable] = {
        row: dict(row.variant.values).get(color_by) for row in inputs.rows
    }
    values = list(dict.fromkeys(value_of.values()))
    colors = style.graded(len(values))
    seen: Counter[Hashable] = Counter()
    look_of = {}
    for row in rows:
        at = values.index(value_of[row])
        look_of[row] = {
            "color": colors[at],
            "marker": style.marker(at),
            "linestyle": style.dash(seen[at]),
        }
        seen[at] += 1
    return look_of
