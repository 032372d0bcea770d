"""Which method helps where: average ranks within each level of the factors of a grid, and against a baseline.

Left: a method's average rank over the settings of a level, n of them, all methods ranked among themselves. Bold:
distinguished from the baseline there, by a sign test over its pairs of setting and seed, corrected by Holm over all
methods and levels of a factor. That speaks of these settings. Right: the share of all pairs in which a method is better
than the baseline, ties half; the bar is the 95 % bootstrap interval over settings, sampled again with their seeds, so
that it speaks of settings like these. A seed that diverged is a loss.
"""

import numpy as np
import pandas as pd
import seaborn
from matplotlib.figure import Figure
from pydantic import Field

from fairfl.experiments.base import Labelled, Names
from fairfl.experiments.variant import selected_by
from fairfl.judgement.ranks import critical_difference, friedman, holm, sign_test, superiority
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, NoRunsError, ShownRow
from fairfl.reporting.ranked import Ranked, ranked, ranked_by
from fairfl.runtime.errors import FairflError

NEEDS = ("tidy",)
DRAWS_COLUMNS = True
COLUMNS = [
    "factor", "level", "settings", "algorithm", "hyperparameters", "rank", "better", "low", "high", "pairs", "p",
    "p_holm", "cd", "friedman",
]  # fmt: skip
ALL = "all"


class Config(Labelled):
    metrics: Names = Field(
        min_length=1,
        description="metric ids: in each setting the first that is a column there ranks",
    )
    baseline: str = Field(description="algorithm or variant that all others are compared with")
    apart: Names = Field(
        default_factory=list,
        description="algorithms or variants that are left out, a class of their own",
    )

    def columns(self) -> list[str]:
        return self.metrics

    def rows(self) -> list[str]:
        return [self.baseline, *self.apart]


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    group = ranked(inputs, config.metrics, config.apart)
    baseline = selected_by(config.baseline)
    same = (row for row in inputs.rows if baseline in (row.algorithm, row.variant))
    if (base := next((row for row in same if row in group.rows), None)) is None:
        raise NoRunsError("The baseline was not run.")
    won = {
        row: [_won(inputs, setting, row, base, metric) for setting, metric in group.metrics.items()]
        for row in group.rows
    }
    levels = _grid(inputs, list(group.metrics)).items()
    frame = pd.concat([_compared(group, won, base, *one) for one in levels], ignore_index=True)
    whole = frame[frame["factor"] == ALL].iloc[0]
    if np.isfinite(whole["cd"]):
        inputs.say(
            f"All: Friedman's p = {whole['friedman']:.2g}; ranks nearer than {whole['cd']:.1f} are not distinguished "
            "by Nemenyi's critical difference."
        )
    inputs.say(
        f"Bold: distinguished from {base.label} by a sign test over settings and seeds, Holm over a factor."
    )
    return _drawing(frame, group, base, ranked_by(inputs, group.metrics)), frame


def _grid(inputs: Inputs, settings: list[str]) -> dict[str, dict[str, list[int]]]:
    """Factor of two levels or more -> level -> places of its settings; first all of them."""
    factors: dict[str, dict[str, list[int]]] = {ALL: {ALL: list(range(len(settings)))}}
    for at, setting in enumerate(settings):
        for factor, level in inputs.spec.settings[setting].levels.items():
            factors.setdefault(factor, {}).setdefault(level, []).append(at)
    return {
        factor: levels for factor, levels in factors.items() if factor == ALL or len(levels) > 1
    }


def _won(inputs: Inputs, setting: str, row: ShownRow, base: ShownRow, metric: str) -> np.ndarray:
    """Wins by seed that both have, [seeds]: 1 where the row is better than the baseline, 0.5 where equal, else 0."""
    mine, theirs = inputs.cell(setting, row, metric), inputs.cell(setting, base, metric)
    if mine is None or theirs is None:
        raise FairflError(f"{inputs.where}: {setting}: no {metric} of {row.label}")
    sign = -1 if inputs.spec.metrics[metric].direction == "down" else 1
    seeds = sorted(mine.by_seed.keys() & theirs.by_seed.keys())
    pairs = sign * np.array([[cell.by_seed[seed] for seed in seeds] for cell in (mine, theirs)])
    ours, others = np.where(np.isnan(pairs), -np.inf, pairs).astype(np.float32)
    return (ours > others) + 0.5 * (ours == others)


def _compared(
    group: Ranked, won: dict[ShownRow, list[np.ndarray]], base: ShownRow, factor: str, levels: dict[str, list[int]]
) -> pd.DataFrame:  # fmt: skip
    """COLUMNS of each level of a factor and each method."""
    records = []
    for level, places in levels.items():
        ranks, methods, settings = group.places[places], len(group.rows), len(places)
        ends = np.nan, np.nan
        if settings > 1 and methods > 2:
            ends = critical_difference(settings, methods), friedman(ranks).p
        for row, rank in zip(group.rows, ranks.mean(axis=0), strict=True):
            of_level = [won[row][place] for place in places]
            names = factor, level, settings, row.algorithm, row.hyperparameters, rank
            p = np.nan if row is base else sign_test(of_level)
            pairs = sum(map(len, of_level))
            records.append((*names, *superiority(of_level), pairs, p, np.nan, *ends))
    frame = pd.DataFrame(records, columns=COLUMNS)
    return frame.assign(p_holm=holm(frame["p"].to_numpy(float)))


def _drawing(frame: pd.DataFrame, group: Ranked, base: ShownRow, label: str) -> Figure:
    """Ranks by level, a rule between two factors; shares of pairs won."""
    methods = len(group.rows)
    figure = style.canvas(style.PAGE, 1.5 + 0.19 * methods)
    left, right = figure.subplots(1, 2, width_ratios=[3, 1], sharey=True)
    columns = frame[::methods]
    ranks, p = (frame[name].to_numpy(float).reshape(-1, methods).T for name in ("rank", "p_holm"))
    # A factor may have a level "all", too.
    levels = [
        f"{'overall' if one.factor == ALL else one.level} ({one.settings})"
        for one in columns.itertuples()
    ]
    table = pd.DataFrame(ranks, [row.label for row in group.rows], levels)
    text: style.Look = {"fontsize": 6, "color": "black"}
    seaborn.heatmap(
        table,
        annot=True,
        fmt=".1f",
        annot_kws=text,
        cmap="RdBu_r",
        vmin=1,
        vmax=methods,
        alpha=0.6,
        cbar=False,
        ax=left,
    )
    for written, value in zip(left.texts, p.ravel(), strict=True):
        written.set_fontweight("bold" if value < 0.05 else "normal")
    left.tick_params("x", rotation=45, rotation_mode="xtick")
    left.tick_params(length=0)
    left.grid(visible=False)
    left.set_xlabel(f"average {label}")
    rules = np.flatnonzero(columns["factor"].ne(columns["factor"].shift()))[1:]
    left.vlines(rules, 0, methods, color="black", linewidth=0.8)
    overall, heights = frame[frame["factor"] == ALL], np.arange(methods) + 0.5
    right.axvline(0.5, color=style.GREY, linewidth=0.7)
    right.hlines(heights, overall["low"], overall["high"], color="black", linewidth=1.3)
    right.plot(overall["better"], heights, "o", color="black")
    right.set(xlim=(-0.04, 1.04), xlabel=f"share of pairs\nbetter than {base.label}")
    right.grid(axis="y", visible=False)
    right.tick_params(axis="y", length=0, labelleft=False)
    return figure
