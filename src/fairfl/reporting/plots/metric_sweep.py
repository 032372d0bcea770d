"""Final metrics against a hyper-parameter, or against what tells settings apart: a line per algorithm.

Each column of the artifact is a metric with its own panel, in the unit that the paper prints. Where a hyper-parameter
is swept, the metrics are the lines of a grid whose columns are the settings; where settings are swept, they share a
panel. A mark is the mean over seeds, its bar ± one population standard deviation; a run that diverged interrupts the
line. Empty marks on a thin line are the paper's numbers, drawn if nothing but
the seeds differs from its setting and they are at hand.
"""

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from pydantic import Field, model_validator

from fairfl.experiments.base import Labelled
from fairfl.experiments.variant import symbol
from fairfl.reporting import style
from fairfl.reporting.frames import metric_grid
from fairfl.reporting.inputs import Inputs, ShownRow, mean_and_std
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import nearest

NEEDS = ("tidy", "reported")
DRAWS_COLUMNS = True
COLUMNS = ["kind", "setting", "algorithm", "hyperparameters", "metric", "x", "mean", "std", "seeds"]

_PAPER: style.Look = {**style.HOLLOW, "linewidth": 0.5}


class Config(Labelled):
    key: str | None = Field(
        None, description="hyper-parameter that is swept: rows stand at their value of it"
    )
    default: float | None = Field(
        None, description="where rows stand that leave the hyper-parameter out"
    )
    places: dict[str, float] = Field(
        default_factory=dict,
        description="in place of a hyper-parameter: setting id -> where its rows stand",
    )
    x_label: str | None = Field(
        None, description="title of the horizontal axis; null: the hyper-parameter's symbol"
    )
    log: bool = Field(False, description="logarithmic horizontal axis")

    @model_validator(mode="after")
    def _swept(self) -> "Config":
        if (self.key is None) == (not self.places):
            raise ValueError("give either key or places: what is swept")
        if self.places and self.x_label is None:
            raise ValueError("places need an x_label")
        return self

    def keys(self) -> list[str]:
        return [self.key] if self.key else []


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    own = style.looks(inputs)
    first = {row.algorithm: own[row] for row in reversed(inputs.rows)}
    looks = {row.algorithm: first[row.algorithm] | {"markersize": 4.5} for row in inputs.measured()}
    at = _places(inputs, config)
    frame = _numbers(inputs, at, list(looks))
    swept, titles = bool(config.places), inputs.spec.algorithms

    def draw_one(axes: Axes, settings: tuple[str, ...], metric: str) -> pd.DataFrame:
        shown = frame[frame["setting"].isin(settings) & (frame["metric"] == metric)].sort_values(
            "x"
        )
        if shown.empty:
            return shown
        for (algorithm, kind), line in shown.groupby(["algorithm", "kind"], sort=True):
            _line(axes, line, looks[algorithm], kind)
        _ticks(axes, {x for (setting, _), x in at.items() if setting in settings}, config)
        style.within_bounds(axes, y=inputs.spec.metrics[metric].unit)
        return shown

    columns: dict[tuple[str, ...], str]
    columns = (
        {tuple(inputs.titles): ""} if swept else {(s,): title for s, title in inputs.titles.items()}
    )
    x_label = config.x_label or symbol(config.key or "")
    figure, _ = metric_grid(
        inputs, columns, draw_one, (0.8, 1.6), x_label, turned=swept, sharex=not swept
    )
    handles = [style.key(label=titles[name], **look) for name, look in looks.items()]
    if "paper" in set(frame["kind"]):
        handles.append(style.key(style.GREY, "the paper's", marker="o", **_PAPER))
    style.legend_above(figure, handles)
    if frame["seeds"].max() > 1:
        inputs.say_bars(frame["seeds"])
    else:
        inputs.say("One seed: another one may move a mark by more than its neighbours are apart.")
    return figure, frame


# -- numbers ----------------------------------------------------------------------------------
def _places(inputs: Inputs, config: Config) -> dict[tuple[str, ShownRow], float]:
    """(setting, row) -> where it stands. Raises FairflError if it stands nowhere, or where another one does."""
    if unplaced := config.places.keys() ^ set(inputs.settings if config.places else ()):
        name = min(unplaced)
        known = config.places if name in inputs.settings else inputs.settings
        raise FairflError(
            f"{inputs.where}.options.places: no place or setting {name!r}{nearest(name, known)}"
        )
    at: dict[tuple[str, ShownRow], float] = {}
    for setting in inputs.settings:
        for row in inputs.rows_in(setting):
            x = config.places[setting] if config.places else _value(inputs, config, row)
            if x in [
                at.get((setting, other))
                for other in inputs.rows
                if other.algorithm == row.algorithm
            ]:
                raise FairflError(
                    f"{inputs.where}: two rows of {row.algorithm} stand at {x:g} in {setting}"
                )
            if config.log and x <= 0:
                raise FairflError(f"{inputs.where}.options.log: {row.label!r} stands at {x:g}")
            at[setting, row] = x
    return at


def _value(inputs: Inputs, config: Config, row: ShownRow) -> float:
    """A row's value of the hyper-parameter."""
    value = next((value for key, value in row.variant.values if key == config.key), config.default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        known = sorted({key for other in inputs.rows for key, _ in other.variant.values})
        hint = "" if config.key in known else nearest(config.key, known)
        raise FairflError(
            f"{inputs.where}.options.key: {row.label!r} has no number for {config.key!r}{hint}; "
            "options.default is for rows that leave it out"
        )
    return float(value)


def _numbers(
    inputs: Inputs, at: dict[tuple[str, ShownRow], float], algorithms: list[str]
) -> pd.DataFrame:
    """COLUMNS of all marks, ours and the paper's, of the algorithms that were run; NaN where a run diverged."""
    records: list[dict[str, Any]] = []
    for metric in inputs.spec.artifact.columns:
        for (setting, row), x in at.items():
            names = {**row.names(setting), "metric": metric, "x": x}
            if cell := inputs.cell(setting, row, metric):
                mean, std = mean_and_std(cell)
                records.append(
                    {**names, "kind": "ours", "mean": mean, "std": std, "seeds": cell.seeds}
                )
                inputs.remark(
                    "Diverged, not drawn", [f"{row.label} ({setting})"] if math.isnan(mean) else []
                )
            paper = inputs.reported_point(setting, row, metric)
            if row.algorithm in algorithms and paper is not None:
                records.append({**names, "kind": "paper", "mean": paper})
    return pd.DataFrame(records, columns=COLUMNS)


# -- drawing ----------------------------------------------------------------------------------
def _line(axes: Axes, line: pd.DataFrame, look: style.Look, kind: str) -> None:
    if kind == "paper":
        axes.plot(line["x"], line["mean"], **look, **_PAPER)
    else:
        bars = (
            {"yerr": line["std"], "elinewidth": 0.7, "capsize": 1.5}
            if line["seeds"].max() > 1
            else {}
        )
        axes.errorbar(line["x"], line["mean"], **bars, **look, zorder=3, clip_on=False)


def _ticks(axes: Axes, places: Iterable[float], config: Config) -> None:
    """All places of the sweep, so that one of five that were run does not look like all there is."""
    if config.log:
        axes.set_xscale("log")
    ticks = sorted(places)
    axes.dataLim.update_from_data_x(ticks, ignore=False)
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.06, y=0.12)
