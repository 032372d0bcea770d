"""Final metrics against a hyper-parameter, or against the key in which settings differ: a line per algorithm.

Each column of the artifact is a metric with its own panel, in the unit that the paper prints. Where a hyper-parameter
is swept, the metrics are the lines of a grid whose columns are the settings; where settings are swept, they share a
panel. A mark is the mean over seeds, its bar ± one population standard deviation; a run that diverged interrupts the
line. Empty marks on a thin line are the paper's numbers, drawn if nothing but
the seeds differs from its setting and they are at hand.
"""

import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field, model_validator

from fairfl.experiments.base import Labelled
from fairfl.experiments.variant import symbol
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.panels import lines_of, metric_panels, points_of
from fairfl.runtime.errors import FairflError

NEEDS = ("tidy", "reported")
DRAWS_COLUMNS = True
COLUMNS = ["kind", "setting", "algorithm", "hyperparameters", "metric", "x", "mean", "std", "seeds"]


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


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    lines, looks = lines_of(inputs, markersize=4.5)
    places, frame = _places(inputs, config), points_of(inputs, inputs.spec.artifact.columns, lines)
    frame["x"] = [places[at] for at in zip(frame["setting"], frame["row"], strict=True)]

    def draw_line(axes: Axes, points: pd.DataFrame, look: style.Look) -> None:
        axes.errorbar("x", "mean", "std", data=points.sort_values("x"), elinewidth=0.7, **look)

    swept: style.Look = {"row": "metric", "col": "setting"} if config.key else {"col": "metric"}
    grid = metric_panels(
        inputs,
        frame,
        looks,
        draw_line,
        config.x_label or symbol(config.key or ""),
        sharey=False,
        **swept,
    )
    # All places of the sweep, so that one of five that were run does not look like all there is, with room around them.
    ticks = sorted(set(places.values()))
    grid.set(xscale="log" if config.log else "linear")
    for axes in grid.axes.flat:
        axes.update_datalim([(x, x) for x in ticks], updatey=False)
        axes.autoscale_view(scaley=False)
        axes.minorticks_off()
    grid.set(xticks=ticks, xticklabels=[f"{x:g}" for x in ticks])
    if frame["seeds"].max() > 1:
        inputs.say_bars(frame["seeds"])
    else:
        inputs.say("One seed: another one may move a mark by more than its neighbours are apart.")
    return grid.figure, frame[COLUMNS]


def _places(inputs: Inputs, config: Config) -> dict[tuple[str, ShownRow], float]:
    """(setting, row) -> where it stands. Raises FairflError if it stands nowhere, or where another one does."""
    at: dict[tuple[str, ShownRow], float] = {}
    marks = set()
    for setting in inputs.settings:
        for row in inputs.rows_in(setting):
            values = dict(row.variant.values)
            x = config.places.get(setting, values.get(config.key or "", config.default))
            if isinstance(x, bool) or not isinstance(x, int | float):
                raise FairflError(
                    f"{inputs.where}.options.key: {row.label!r} has no number for {config.key!r}; "
                    "options.default is for rows that leave it out"
                )
            if config.log and x <= 0:
                raise FairflError(f"{inputs.where}.options.log: {row.label!r} stands at {x:g}")
            if (setting, row.algorithm, x) in marks:
                raise FairflError(
                    f"{inputs.where}: two rows of {row.algorithm} stand at {x:g} in {setting}"
                )
            marks.add((setting, row.algorithm, x))
            at[setting, row] = float(x)
    return at
