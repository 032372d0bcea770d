"""Differences between methods that ran with the same seeds: those of `of` minus each other row, metric by metric.

A mark is the mean difference over seeds, the bar its 95 % interval by Student's t over the differences seed by seed.
Each interval is one by itself: of twenty differences that are none, one is expected to leave zero out. Columns of the
grid are the artifact's metrics, lines its settings; an arrow says which way is better. A difference in which a seed
diverged is not drawn. With Holm's correction, marks are filled whose p over all differences of the panel is below 0.05.
"""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Labelled, Names
from fairfl.judgement.paired import LEVEL, Paired, paired
from fairfl.judgement.ranks import holm
from fairfl.judgement.units import unit_words
from fairfl.reporting import style
from fairfl.reporting.frames import named_lines
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.notes import seeds_text
from fairfl.reporting.ranked import split

NEEDS = ("tidy",)
DRAWS_COLUMNS = True
COLUMNS = [
    "setting", "of", "of_hyperparameters", "algorithm", "hyperparameters", "metric", "unit",
    "difference", "low", "high", "p", "seeds",
]  # fmt: skip


class Config(Labelled):
    of: Names = Field(
        min_length=1,
        description="algorithms, or variants such as qffl/q=0.1: the others are subtracted from these rows",
    )
    holm: bool = Field(
        False, description="fill marks whose p is below 0.05 by Holm's correction over a panel"
    )

    def rows(self) -> list[str]:
        return self.of


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    others, own = split(inputs, config.of)
    metrics, names = inputs.spec.artifact.columns, inputs.titles
    height = 0.5 + 0.16 * len(others) * max(1, 0.6 * len(own))
    figure = style.canvas(style.PAGE, 0.8 + len(names) * height)
    grid = figure.subplots(len(names), len(metrics), squeeze=False, sharey="row", sharex="col")
    looks = style.looks(inputs)
    mine = [(row, looks[row]) for row in own]
    frames = [
        _panel(axes, inputs, setting, metric, mine, others, config.holm)
        for along, setting in zip(grid, names, strict=True)
        for axes, metric in zip(along, metrics, strict=True)
    ]
    for along, title in zip(grid, names.values(), strict=True):
        named_lines(along[0], [f"– {row.label}" for row in others])
        if len(names) > 1:
            along[0].set_title(title)
    drawn = pd.concat(frames, ignore_index=True)
    better = own[0].label if len(own) == 1 else "the first"
    for axes, metric in zip(grid[-1], metrics, strict=True):
        if _cut(axes, drawn["difference"][drawn["metric"] == metric]):
            inputs.say("Intervals that leave a panel are cut.")
        described = inputs.spec.metrics[metric]
        unit = unit_words(_unit(described.unit))
        side = {"up": "right", "down": "left", None: ""}[described.direction]
        better_side = f"\n{side}: {better} better" if side else ""
        axes.set_xlabel(described.name + (f" ({unit})" if unit else "") + better_side)
    keys = {row.label: looks[row] | {"linestyle": "none"} for row in own}
    style.legend_above(figure, [style.key(label=label, **look) for label, look in keys.items()])
    if drawn["low"].notna().any():
        inputs.say(
            f"Mark: mean difference over {seeds_text(drawn['seeds'])}; bar: {LEVEL:.0%} interval, each by itself."
        )
    else:
        inputs.say("Mark: the difference with one seed, which has no interval.")
    if config.holm:
        inputs.say("Filled: p below 0.05 by Holm's correction over all differences of a panel.")
    return figure, drawn


def _cut(axes: Axes, differences: pd.Series) -> bool:
    """Limits by the marks of panels that share them, not by intervals many times as wide; True if some are cut."""
    reach, (low, high) = 2.5 * differences.abs().max(), axes.get_xlim()
    if not reach > 0 or (-reach <= low and high <= reach):
        return False
    axes.set_xlim(max(low, -reach), min(high, reach))
    return True


def _unit(unit: str) -> str:
    """Unit of a difference."""
    return "percent_points" if unit == "percent" else unit


def _has(inputs: Inputs, setting: str, row: ShownRow, metric: str) -> bool:
    """True if the artifact has the metric of a row in a setting."""
    return row.setting in (None, setting) and metric in inputs.spec.artifact.columns_for(
        row.algorithm, setting
    )


def _panel(
    axes: Axes, inputs: Inputs, setting: str, metric: str,
    own: list[tuple[ShownRow, style.Look]], others: list[ShownRow], corrected: bool,
) -> pd.DataFrame:  # fmt: skip
    records, marks = [], []
    unit = _unit(inputs.spec.metrics[metric].unit)
    for number, (row, look) in enumerate(own):
        for at, other in enumerate(others):
            if not all(_has(inputs, setting, each, metric) for each in (row, other)):
                continue
            mine, theirs = inputs.cell(setting, row, metric), inputs.cell(setting, other, metric)
            if mine is None or theirs is None:
                continue
            one = paired(mine.by_seed, theirs.by_seed)
            names = setting, row.algorithm, row.hyperparameters
            others_names = other.algorithm, other.hyperparameters, metric, unit
            numbers = one.difference, one.low, one.high, one.p, one.seeds
            records.append((*names, *others_names, *numbers))
            marks.append((one, at + (number - (len(own) - 1) / 2) * 0.7 / len(own), look))
    frame = pd.DataFrame(records, columns=COLUMNS)
    if corrected:
        frame["p_holm"] = holm(frame["p"].to_numpy(float))
    for number, (one, height, look) in enumerate(marks):
        hollow = corrected and not frame["p_holm"][number] < 0.05
        _mark(axes, one, height, look | ({"markerfacecolor": "white"} if hollow else {}))
    if not records:
        style.not_run(axes)
    style.zero_line(axes, vertical=True)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    return frame


def _mark(axes: Axes, one: Paired, height: float, look: style.Look) -> None:
    """A finite difference, and its interval if it has one."""
    if math.isfinite(one.difference):
        ends = [[one.difference - one.low], [one.high - one.difference]]
        bar = ends if math.isfinite(one.low) else None
        look = {key: value for key, value in look.items() if key != "linestyle"}
        mark: style.Look = {
            "linestyle": "none",
            "markersize": 3.2,
            "elinewidth": 1.0,
            "capsize": 1.5,
        }
        axes.errorbar(one.difference, height, xerr=bar, **look | mark)
