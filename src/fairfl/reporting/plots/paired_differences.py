"""Differences between methods that ran with the same seeds: those of `of` minus each other row, metric by metric.

A mark is the mean difference over seeds, the bar its 95 % interval by Student's t over the differences seed by seed.
Each interval is one by itself: of twenty differences of zero, one is expected to leave zero out. Columns of the
grid are the artifact's metrics, lines its settings; an arrow says which way is better. A difference in which a seed
diverged is not drawn. With Holm's correction, marks are filled whose p over all differences of the panel is below 0.05.
"""

from itertools import product

import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field

from fairfl.experiments.base import Labelled, Names
from fairfl.judgement.paired import LEVEL, paired
from fairfl.judgement.ranks import holm
from fairfl.judgement.units import unit_words
from fairfl.reporting import style
from fairfl.reporting.footer import seeds_text
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.panels import panels
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


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    others, own = split(inputs, config.of)
    marks: style.Look = {"linestyle": "none", "markersize": 3.2}
    looks = {row: look | marks for row, look in style.looks(inputs).items()}
    metrics = inputs.spec.artifact.columns
    cells = product(inputs.settings, metrics)
    frames = [_differences(inputs, *cell, own, others, config.holm) for cell in cells]
    frame = pd.concat(frames, ignore_index=True)

    def draw_panel(axes: Axes, numbers: pd.DataFrame) -> None:
        for number, row in enumerate(own):
            part = numbers[numbers["row"] == number]
            height = part["other"] + (number - (len(own) - 1) / 2) * 0.7 / len(own)
            ends = [
                part["difference"] - part["low"],
                part["high"] - part["difference"],
            ]
            axes.errorbar(part["difference"], height, xerr=ends, **looks[row])
            if config.holm:
                open_ones = ~(part["p_holm"] < 0.05)
                white = {"markerfacecolor": "white", "zorder": 3}
                axes.plot(part["difference"][open_ones], height[open_ones], **looks[row] | white)
        axes.axvline(0, **style.ZERO)

    titles = {
        (s, metrics[0]): title for s, title in inputs.titles.items() if len(inputs.titles) > 1
    }
    height = 0.5 + 0.16 * len(others) * max(1, 0.6 * len(own))
    grid = panels(
        frame,
        draw_panel,
        titles,
        height,
        row="setting",
        row_order=inputs.settings,
        col="metric",
        col_order=metrics,
        sharex="col",
    )
    grid.set(yticks=range(len(others)), ylim=(len(others) - 0.4, -0.6))
    for axes in grid.axes.flat:
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
    for axes in grid.axes[:, 0]:
        axes.set_yticklabels([row.label for row in others])
    better = own[0].label if len(own) == 1 else "the first"
    for axes, metric in zip(grid.axes[-1], metrics, strict=True):
        if _cut(axes, frame["difference"][frame["metric"] == metric]):
            inputs.say("Intervals that leave a panel are cut.")
        described = inputs.spec.metrics[metric]
        unit = unit_words(_unit(described.unit))
        side = {"up": "right", "down": "left", None: ""}[described.direction]
        better_side = f"\n{side}: {better} better" if side else ""
        axes.set_xlabel(described.name + (f" ({unit})" if unit else "") + better_side)
    style.legend_above(grid.figure, {f"{row.label} minus …": looks[row] for row in own})
    if frame["low"].notna().any():
        inputs.say(
            f"Mark: mean difference over {seeds_text(frame['seeds'])}; bar: {LEVEL:.0%} interval, each by itself."
        )
    else:
        inputs.say("Mark: the difference with one seed, which has no interval.")
    if config.holm:
        inputs.say("Filled: p below 0.05 by Holm's correction over all differences of a panel.")
    return grid.figure, frame.drop(columns=["row", "other"])


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


def _differences(
    inputs: Inputs, setting: str, metric: str, own: list[ShownRow], others: list[ShownRow], has_holm: bool
) -> pd.DataFrame:  # fmt: skip
    """COLUMNS of a panel, and the places row and other in `own` and `others`."""
    records = []
    unit = _unit(inputs.spec.metrics[metric].unit)
    for (number, row), (at, other) in product(enumerate(own), enumerate(others)):
        mine, theirs = inputs.cell(setting, row, metric), inputs.cell(setting, other, metric)
        has_both = all(
            each in inputs.rows_in(setting)
            and metric in inputs.spec.artifact.columns_for(each.algorithm, setting)
            for each in (row, other)
        )
        if has_both and mine and theirs:
            one = paired(mine.by_seed, theirs.by_seed)
            names = setting, row.algorithm, row.hyperparameters
            other_names = other.algorithm, other.hyperparameters, metric, unit
            numbers = one.difference, one.low, one.high, one.p, one.seeds
            records.append((*names, *other_names, *numbers, number, at))
    frame = pd.DataFrame(records, columns=[*COLUMNS, "row", "other"])
    return frame.assign(p_holm=holm(frame["p"].to_numpy(float))) if has_holm else frame
