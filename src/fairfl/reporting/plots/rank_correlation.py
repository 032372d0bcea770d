"""Do metrics order the methods alike: Kendall's tau-b between the artifact's columns, over its rows.

A row's number is its mean over seeds, turned so that more is better (by the metric's direction): 1 says that two
metrics order the methods alike, -1 that one is the other upside down. Below the diagonal stands the mean over the
settings that have both metrics, above it the smallest of them. Rows that diverged by either metric are left out of a
pair; tau of fewer than three rows, or of a metric by which all are equal, is none.
"""

from itertools import combinations

import numpy as np
import pandas as pd
import seaborn
from matplotlib.figure import Figure

from fairfl.experiments.base import Labelled
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, NoRunsError, mean_and_std

NEEDS = ("tidy",)
DRAWS_COLUMNS = True
COLUMNS = ["setting", "metric", "other", "tau", "methods"]


class Config(Labelled):
    pass


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    inputs.measured()
    metrics = inputs.spec.artifact.columns
    records = []
    for setting in inputs.settings:
        numbers = _numbers(inputs, setting)
        found = numbers.notna()
        for one, other in combinations(metrics, 2):
            tau = numbers[one].corr(numbers[other], method="kendall", min_periods=3)
            records.append((setting, one, other, tau, (found[one] & found[other]).sum()))
    frame = pd.DataFrame(records, columns=COLUMNS)
    by_pair = frame.groupby(["metric", "other"])["tau"]
    mean, smallest = by_pair.mean(), by_pair.min()
    if mean.isna().all():
        raise NoRunsError("Not run at this scale.")
    taus = np.full((len(metrics), len(metrics)), np.nan)
    for pair in combinations(metrics, 2):
        across, down = map(metrics.index, pair)
        taus[down, across], taus[across, down] = mean[pair], smallest[pair]
    figure = style.canvas(
        style.PAGE if len(metrics) > 7 else style.COLUMN, 0.9 + 0.3 * len(metrics)
    )
    axes = figure.subplots()
    names = [inputs.spec.metrics[metric].name for metric in metrics]

    look: style.Look = {"cmap": "RdBu", "vmin": -1, "vmax": 1, "annot_kws": {"fontsize": 7}}
    bar = {"label": "Kendall's τ", "aspect": 30, "pad": 0.02}
    seaborn.heatmap(
        pd.DataFrame(taus, names, names), annot=True, fmt=".2f", cbar_kws=bar, **look, ax=axes
    )
    axes.set_xticklabels(names, rotation=45, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    if len(inputs.settings) > 1:
        inputs.say("Below the diagonal: mean over settings; above it: the smallest.")
    return figure, frame


def _numbers(inputs: Inputs, setting: str) -> pd.DataFrame:
    """Mean over seeds of each row (lines) by each metric (columns), more is better; NaN where there is none."""
    lines = []
    for row in inputs.rows_in(setting):
        had = inputs.spec.artifact.columns_for(row.algorithm, setting)
        cells = {metric: inputs.cell(setting, row, metric) for metric in had}
        lost = any(cell and cell.diverged for cell in cells.values())
        inputs.remark("Diverged, left out", [f"{row.label} ({inputs.names[setting]})"] * lost)
        signs = {
            metric: -1 if inputs.spec.metrics[metric].direction == "down" else 1 for metric in had
        }
        lines.append(
            {metric: signs[metric] * mean_and_std(cell)[0] for metric, cell in cells.items()}
        )
    return pd.DataFrame(lines, columns=inputs.spec.artifact.columns, dtype=float)
