"""Grids of panels: seaborn's FacetGrid over the tidy frame of a figure's numbers."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, product
from typing import Any

import pandas as pd
import seaborn
from matplotlib import pyplot
from matplotlib.axes import Axes

from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, ShownRow, mean_and_std

POINTS = [
    "kind", "setting", "algorithm", "hyperparameters", "line", "row", "metric", "mean", "std", "seeds",
]  # fmt: skip


def panels(
    frame: pd.DataFrame,
    draw_panel: Callable[[Axes, pd.DataFrame], None],
    titles: Mapping[Any, str],
    height: float,
    **facets: Any,
) -> seaborn.FacetGrid:
    """A grid whose panels `draw_panel` fills with their lines of a frame; one without lines says "not run".

    `titles` by value of the column `col`, or by columns `row` and `col`; `height` of a line of panels in inches.
    """
    grid = seaborn.FacetGrid(frame, despine=False, **facets)
    lines = grid.axes.flat[0].get_gridspec().nrows
    grid.figure.set_size_inches(style.PAGE, 0.5 + height * lines)
    grid.figure.set_layout_engine("constrained")
    pyplot.close(grid.figure)
    for (key, axes), (_, numbers) in zip(grid.axes_dict.items(), grid.facet_data(), strict=True):
        axes.set_title(titles.get(key, ""))
        if numbers.empty:
            style.write_not_run(axes)
        else:
            draw_panel(axes, numbers)
    return grid


def metric_panels(
    inputs: Inputs,
    frame: pd.DataFrame,
    looks: Mapping[str, style.Look],
    draw_line: Callable[[Axes, pd.DataFrame, style.Look], None],
    x_label: str,
    y_labels: Mapping[str, str] = {},
    **facets: Any,
) -> seaborn.FacetGrid:
    """Panels of metrics and settings with a line for each of `looks`, hollow where it is the paper's, and a legend.

    Columns of `frame`: setting, metric, line, which names one of `looks`, and kind, "ours" or "paper".
    """
    metrics, titles = inputs.spec.artifact.columns, inputs.titles
    orders = {"metric": metrics, "setting": list(titles)}
    for side in ("row", "col"):
        facets[f"{side}_order"] = orders.get(facets.get(side, ""))
    above = {(metrics[0], setting): title for setting, title in titles.items()}
    above |= {(setting, metric): titles[setting] for setting, metric in product(titles, metrics)}

    def draw_panel(axes: Axes, numbers: pd.DataFrame) -> None:
        for (line, kind), points in numbers.groupby(["line", "kind"], sort=False):
            draw_line(axes, points, looks[line] | (style.HOLLOW if kind == "paper" else {}))

    grid = panels(frame, draw_panel, above if len(titles) > 1 else {}, 1.8, **facets)
    grid.set_axis_labels(x_label, "")
    labelled = grid.axes[:, 0] if facets.get("row") == "metric" else grid.axes.flat
    for axes, metric in zip(labelled, cycle(metrics), strict=False):
        axes.set_ylabel(y_labels.get(metric) or inputs.axis(metric))
    style.legend_above(grid.figure, {**looks, **paper_entry(frame)})
    return grid


def lines_of(
    inputs: Inputs, by: str = "algorithm", **look: Any
) -> tuple[dict[ShownRow, str], dict[str, style.Look]]:
    """The line that each row belongs to, its algorithm's or (by "row") its own, and the look of each line.

    Lines of which no row has results are left out.
    """
    titles, looks = inputs.spec.algorithms, style.looks(inputs)
    every = {row: row.label if by == "row" else titles[row.algorithm] for row in inputs.rows}
    ran = {every[row] for row in inputs.measured()}
    lines = {row: line for row, line in every.items() if line in ran}
    first = {line: row for row, line in reversed(lines.items())}
    return lines, {line: looks[first[line]] | look for line in lines.values()}


def points_of(
    inputs: Inputs, metrics: Sequence[str], lines: Mapping[ShownRow, str]
) -> pd.DataFrame:
    """Our numbers and the paper's that may be drawn beside them, metric by metric; NaN where a run diverged.

    Columns POINTS; kind is "ours" or "paper".
    """
    records = []
    for metric, setting, (row, line) in product(metrics, inputs.settings, lines.items()):
        if row in inputs.rows_in(setting):
            names = (*row.names(setting).values(), line, row, metric)
            if cell := inputs.cell(setting, row, metric):
                records.append(("ours", *names, *mean_and_std(cell), cell.seeds))
                if math.isnan(records[-1][-3]):
                    inputs.remark("Diverged, not drawn", [f"{row.label} ({inputs.names[setting]})"])
            if (paper := inputs.reported_point(setting, row, metric)) is not None:
                records.append(("paper", *names, paper, math.nan, math.nan))
    return pd.DataFrame(records, columns=POINTS)


def paper_entry(frame: pd.DataFrame, **more: Any) -> dict[str, style.Look]:
    """The legend's entry of the paper's numbers; {} if a frame has none."""
    look: style.Look = {"color": style.GREY, "marker": "o"} | style.HOLLOW | more
    return {"the paper's": look} if "paper" in set(frame["kind"]) else {}
