"""How much tuning methods need: the validation score to expect of the best of n trials, a line per row of the artifact.

Of a method's N trials, n are drawn at random without replacement; the line is the mean, over all such draws, of the
best of the n (as Dodge et al. 2019, "Show your work", here exactly: E[max] = sum_i v_(i) C(i-1, n-1) / C(N, n) with the
scores v_(1) <= ... <= v_(N)). A flat line needs no tuning. A trial that diverged counts as much as the worst score of
any method in the setting, so that a method that often diverges does not look as if it needed no tuning. There is one
panel per setting; the metric by which it was tuned is a column of the artifact.
"""

import math
from pathlib import Path
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from pydantic import Field

from fairfl.experiments.base import Labelled
from fairfl.judgement.units import factor
from fairfl.metrics.registry import UNITS
from fairfl.reporting import style
from fairfl.reporting.frames import panelled
from fairfl.reporting.inputs import Inputs, NoRunsError, Row
from fairfl.runtime import result_files

NEEDS = ("tuned",)
DRAWS_COLUMNS = True
COLUMNS = ["setting", "algorithm", "trials", "expected"]


class Config(Labelled):
    highlight: list[str] = Field(
        default_factory=list, description="algorithms with colours, others are grey; []: all"
    )
    y_labels: dict[str, str] = Field(
        default_factory=dict, description="column -> title of its vertical axis"
    )

    def columns(self) -> list[str]:
        return [*self.y_labels]

    def rows(self) -> list[str]:
        return self.highlight


class Trials(result_files.ResultFile):
    """What fairfl.jobs.tune tried for one algorithm in one setting."""

    class Point(result_files.ResultFile):
        value: float | None = Field(description="score on validation data; null: diverged")

    metric: str
    direction: Literal["up", "down"]
    points: list[Point]
    tried: bool = True  # False: the only point of its grid


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    looks = style.looks(inputs)
    grey: style.Look = {"color": style.GREY, "linewidth": 0.5, "alpha": 0.6}
    if config.highlight:
        looks = {
            row: look if row.algorithm in config.highlight else grey for row, look in looks.items()
        }

    def draw_one(axes: Axes, setting: str) -> pd.DataFrame:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return _panel(axes, inputs, config, setting, looks)

    figure, frames = panelled(inputs.titles, draw_one, (0.9, 1.5), 2, ("trials", ""))
    drawn = pd.concat(frames, ignore_index=True)
    if drawn.empty:
        raise NoRunsError("Not run at this scale.")
    handles = [
        style.key(label=row.label, **look) for row, look in looks.items() if look is not grey
    ]
    others = [style.key(label="others", **grey)] * (len(handles) < len(looks))
    style.legend_above(figure, handles + others, 5 if len(inputs.titles) > 1 else 2)
    inputs.say("Line: the score on validation data that the best of n trials is expected to have.")
    return figure, drawn


def expected_best(values: list[float]) -> list[float]:
    """Mean of the largest of n of N values over all choices of n, for n = 1 to N."""
    ranked, count = sorted(values), len(values)
    return [
        math.fsum(value * math.comb(below, n - 1) for below, value in enumerate(ranked))
        / math.comb(count, n)
        for n in range(1, count + 1)
    ]


def _panel(
    axes: Axes, inputs: Inputs, config: Config, setting: str, looks: dict[Row, style.Look]
) -> pd.DataFrame:
    files = {
        row: inputs.spec.files["tuned"].get(f"{setting}/{row.algorithm}")
        for row in inputs.rows_in(setting)
    }
    found = {row: result_files.read(Path(file), Trials) for row, file in files.items() if file}
    tried = {row: one for row, one in found.items() if one.tried}
    points = [point.value for one in tried.values() for point in one.points]
    scores = [value for value in points if value is not None]
    if not scores:
        return pd.DataFrame(columns=COLUMNS)
    records = []
    for row, one in tried.items():
        axes.set_ylabel(config.y_labels.get(one.metric) or inputs.axis(one.metric))
        sign, worst = (1, min(scores)) if one.direction == "up" else (-1, max(scores))
        if diverged := sum(point.value is None for point in one.points):
            name = f"{diverged} of {row.label} ({inputs.names[setting]})"
            inputs.remark("Trials that diverged", [name])
        measured, shown = UNITS[one.metric], inputs.spec.metrics[one.metric].unit
        # Losses, nats or squared errors, are shown as they are.
        scale = sign if measured == "nats" else sign * factor(measured, shown)
        values = [worst if point.value is None else point.value for point in one.points]
        best = expected_best([sign * value for value in values])
        line = pd.Series(best, range(1, len(best) + 1)) * scale
        look: style.Look = {"linewidth": 1.1, "markersize": 3} | looks[row]
        axes.plot(line.index, line, **look)
        records += [(setting, row.algorithm, trials, value) for trials, value in line.items()]
    drawn = pd.DataFrame(records, columns=COLUMNS)
    ends = drawn.groupby("algorithm")["expected"].last()
    shown = inputs.spec.metrics[next(iter(tried.values())).metric].unit
    if style.far_apart(drawn["expected"].tolist(), shown):
        style.log_axis(axes)
    elif style.focus(axes, ends.tolist(), drawn["expected"].tolist()):
        inputs.say("Lines that leave a panel begin far from all others.")
    return drawn
