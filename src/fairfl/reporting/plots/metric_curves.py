"""Metrics over the clients along training, such as the mean of their accuracies: a line per row of the artifact.

Each column of the artifact is a metric with its own panel, in the unit that the paper prints: side by side in one
setting; with several settings they are the lines of a grid whose columns are the settings, or the other way round. A
line is the mean over seeds, the band the smallest to the largest seed (or mean ± std). A seed that diverges ends the
line instead of leaving the mean. Colour, marker and dashes are the algorithm's, or colour is the value of a
hyper-parameter; rows of one algorithm have its hue. Thin lines with circles
are the paper's own curves, drawn if nothing but the seeds differs from its setting and its numbers are at hand.
"""

from itertools import product
from typing import Literal

import pandas as pd
import seaborn
from matplotlib.axes import Axes
from pydantic import Field

from fairfl.experiments.base import Labelled
from fairfl.judgement.units import factor
from fairfl.metrics.registry import METRICS, measured
from fairfl.reporting import style
from fairfl.reporting.footer import seeds_text
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.panels import metric_panels
from fairfl.reporting.plots.client_curves import BANDS, draw_curve, mean_and_band
from fairfl.runtime.errors import FairflError

NEEDS = ("rounds", "reported")
DRAWS_COLUMNS = ALONG_TRAINING = True
COLUMNS = [
    "kind", "setting", "algorithm", "hyperparameters", "metric", "round", "mean", "low", "high", "seeds",
]  # fmt: skip

BANDS_OF = 6  # lines: bands of more cover one another


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


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    settings, metrics = inputs.settings, inputs.spec.artifact.columns
    look_of = looks(inputs, inputs.trained(inputs.rounds), config.color_by)
    is_turned = len(settings) == 1 or config.down == "setting"
    cells = product(settings, metrics) if is_turned else ((s, m) for m in metrics for s in settings)
    numbers = [_numbers(inputs, config, list(look_of), *cell) for cell in cells]
    frame = pd.concat(filter(len, numbers), ignore_index=True).reindex(columns=[*COLUMNS, "line"])
    has_bands = len(look_of) <= BANDS_OF

    def draw_line(axes: Axes, points: pd.DataFrame, look: style.Look) -> None:
        draw_curve(axes, points, 0.12 if has_bands else 0, **look)

    first = [row.algorithm for row in look_of]
    together = sorted(look_of, key=lambda row: first.index(row.algorithm))  # rows of one algorithm
    lines = {row.label: look_of[row] for row in together}
    row, col = ("setting", "metric") if is_turned else ("metric", "setting")
    grid = metric_panels(
        inputs,
        frame,
        lines,
        draw_line,
        "round",
        config.y_labels,
        row=row,
        col=col,
        sharex=False,
        sharey=False,
    )
    if inputs.rounds["seed"].nunique() > 1:
        band = BANDS[config.band] if has_bands else ""
        inputs.say(f"Line: mean over {seeds_text(frame['seeds'])}{band}.")
    return grid.figure, frame[COLUMNS]


def _numbers(
    inputs: Inputs, config: Config, rows: list[ShownRow], setting: str, metric: str
) -> pd.DataFrame:
    """COLUMNS of one metric of one setting; empty if no row was run there."""
    rounds = inputs.rounds[inputs.rounds["setting"] == setting]
    unit, vector, function = METRICS[metric]
    scale, frames = factor(unit, inputs.spec.metrics[metric].unit), []
    for row in rows:
        if row not in inputs.rows_in(setting) or (own := row.of(rounds)).empty:
            continue
        names = {**row.names(setting), "metric": metric, "line": row.label}
        clients = measured(own, config.part)[vector]
        by_run = clients.groupby([own["seed"], own["round"]]).agg(lambda c: function(c.to_numpy()))
        band = mean_and_band((by_run * scale).groupby("round"), config.band)
        frames.append(band.reset_index().assign(kind="ours", **names))
        curve = inputs.reported_curve(setting, row, metric)
        paper = pd.DataFrame(curve, columns=["round", "mean"]).assign(kind="paper", **names)
        frames += [paper] if len(paper) else []
    frame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    if frames and frame["mean"].isna().all():
        raise FairflError(f"{inputs.where}: no finite value of {metric} in {setting}")
    return frame


def looks(inputs: Inputs, rows: list[ShownRow], color_by: str | None) -> dict[ShownRow, style.Look]:
    """Looks of the algorithms; or colour by value of a hyper-parameter, dashes and marker by place among its rows."""
    look_of = style.looks(inputs)
    if color_by:
        value_of = {row: dict(row.variant.values).get(color_by) for row in inputs.rows}
        values = list(dict.fromkeys(value_of.values()))
        colors = seaborn.color_palette("viridis", len(values)).as_hex()
        for row in rows:
            at = values.index(value_of[row])
            same = [other for other in rows if value_of[other] == value_of[row]]
            number = same.index(row)
            look_of[row] = {
                "color": colors[at],
                "marker": style.marker(at + number * len(values)),
                "linestyle": style.dash(number),
            }
    sparse = {row: (0.12 * number / len(rows), 0.12) for number, row in enumerate(rows)}
    return {row: look_of[row] | {"markevery": sparse[row]} for row in rows}
