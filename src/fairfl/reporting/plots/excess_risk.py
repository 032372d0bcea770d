"""Every agent's loss, split into what no model of its cluster avoids and the rest (figures 1 and 3 of FOCUS).

One panel per row of the artifact, one bar per agent in the order of the true clusters. A bar is the mean over seeds of
the agent's loss L_e: the surrogate Bayes optimal loss B_e of its cluster, and on top of it its excess risk L_e - B_e.
Where the agent's model is better than the surrogate, the filled bar ends at L_e and an empty, hatched one reaches up
to B_e: there the excess risk is negative. Error bars are ± one population standard deviation of L_e over seeds.

Below the bars of an algorithm that clusters stand the models w_m that the agents follow (first seed). Circles are the
paper's excess risks on top of our B_e, drawn if nothing but the seeds differs from its setting and they are at hand.
Agents, clusters and models are numbered from 1.
"""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.judgement.cells import Cell
from fairfl.reporting import style
from fairfl.reporting.footer import plural, seeds_text
from fairfl.reporting.inputs import Inputs, ShownRow, mean_and_std
from fairfl.reporting.panels import panels
from fairfl.runtime.errors import FairflError

NEEDS = ("tidy", "partition", "reported")
COLUMNS = [
    "setting", "algorithm", "hyperparameters", "agent", "cluster", "model", "loss", "loss_std", "bayes", "excess",
    "seeds", "excess_reported",
]  # fmt: skip

_WIDTH = 0.72  # of a bar, in agents
_BAYES: style.Look = {"color": "#b4c1cc", "linewidth": 0}
_EXCESS: style.Look = {"color": style.RED, "linewidth": 0}
_NEGATIVE: style.Look = {
    "facecolor": "none", "edgecolor": style.RED, "hatch": "//////", "linewidth": 0.7,
}  # fmt: skip
_PAPER: style.Look = {
    "color": style.DARK, "marker": "o", "markersize": 4, "markerfacecolor": "white", "linestyle": "none",
}  # fmt: skip
_SQUARE: style.Look = {"marker": "s", "markersize": 6, "linestyle": "none"}


class Config(Strict):
    clusters: list[str] = Field(
        default_factory=list,
        description="what is printed below the true clusters, in their order; empty: C1, C2, ...",
    )

    def metrics(self) -> list[str]:
        return ["excess_client_0"]


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    setting, rows = inputs.settings[0], inputs.measured()
    agents = by_cluster(inputs, setting)
    names = _cluster_names(inputs, agents, config)
    frame = pd.concat([_split(inputs, setting, row, agents) for row in rows], ignore_index=True)
    if frame["excess"].isna().all():
        raise FairflError(
            f"{inputs.where}: the results of {setting} have no finite excess_client_0, excess_client_1, ..."
        )
    lines = 2 if frame["model"].notna().any() else 1

    def draw_panel(axes: Axes, numbers: pd.DataFrame) -> None:
        numbers = numbers.reset_index(drop=True)
        _draw_bars(axes, numbers)
        _write_below(axes, numbers, names, lines)

    titles = {row.label: row.label for row in rows}
    grid = panels(
        frame, draw_panel, titles, 2.0, col="line", col_wrap=min(2, len(rows)), sharex=False
    )
    grid.set_axis_labels("", "loss (nats)")
    entries = {
        "surrogate Bayes optimal loss": _SQUARE | {"color": _BAYES["color"]},
        "excess risk": _SQUARE | {"color": style.RED},
    }
    if (frame["excess"] < 0).any():
        entries["negative excess risk"] = entries["excess risk"] | {"markerfacecolor": "none"}
    if frame["excess_reported"].notna().any():
        entries["the paper's excess risk"] = _PAPER
    style.legend_above(grid.figure, entries)
    if frame["seeds"].max() > 1:
        inputs.say(
            f"Bars: mean over {seeds_text(frame['seeds'])}; error bars: loss ± one standard deviation."
        )
    return grid.figure, frame[COLUMNS]


def by_cluster(inputs: Inputs, setting: str) -> pd.DataFrame:
    """Columns client (from 0) and cluster (from 1, missing if the data have none), by true cluster, then by client."""
    measured = inputs.ours.members(setting, "loss_client_k")
    if not measured:
        raise FairflError(f"{inputs.where}: the results of {setting} have no metric loss_client_0")
    clusters = inputs.clusters(setting) or [pd.NA] * len(measured)
    frame = pd.DataFrame(
        {"client": range(len(clusters)), "cluster": pd.array(clusters, dtype="Int64") + 1}
    )
    return frame.sort_values(["cluster", "client"])


def _cluster_names(inputs: Inputs, agents: pd.DataFrame, config: Config) -> dict[int, str]:
    """Names that are printed below the true clusters. Raises FairflError unless every cluster is named."""
    clusters = agents["cluster"].dropna().unique().tolist()
    names = config.clusters or [f"$C_{{{cluster}}}$" for cluster in clusters]
    if len(names) != len(clusters):
        raise FairflError(
            f"{inputs.where}.options.clusters: {len(names)} names {names} for {len(clusters)} clusters"
        )
    return dict(zip(clusters, names, strict=True))


# -- numbers ----------------------------------------------------------------------------------
def _split(inputs: Inputs, setting: str, row: ShownRow, agents: pd.DataFrame) -> pd.DataFrame:
    """COLUMNS of one row, one line per agent; NaN where a seed has no finite value."""
    records = []
    for client, cluster in agents.itertuples(index=False):
        loss, excess, model = (
            inputs.cell(setting, row, f"{family}_client_{client}") or Cell(None)
            for family in ("loss", "excess", "cluster")
        )
        followed = next(iter(model.by_seed.values()), math.nan)
        numbers = (*mean_and_std(loss), _difference(loss, excess), mean_and_std(excess)[0])
        reported = inputs.reported_point(setting, row, f"excess_client_{client}")
        seeds = max(loss.seeds, excess.seeds)
        names = (*row.names(setting).values(), client + 1, cluster, followed + 1)
        records.append((*names, *numbers, seeds, reported))
    frame = pd.DataFrame(records, columns=COLUMNS)
    frame = frame.astype({"cluster": "Int64", "model": "Int64", "excess_reported": float})
    frame = frame.assign(seeds=frame["seeds"].max(), line=row.label)
    lost = [f"{row.label} agent {agent}" for agent in frame["agent"][frame["bayes"].isna()]]
    inputs.remark("No finite loss and excess risk, not drawn (×)", lost)
    if rand := inputs.cell(setting, row, "assignment_rand"):
        # Which model serves which cluster does not matter.
        values = [*rand.by_seed.values()]
        recovered = f"{np.isclose(values, 1).sum()} of {plural(len(values), 'seed')}"
        index = f"adjusted Rand index {', '.join(f'{value:.3g}' for value in values)}"
        models = f"models shown: seed {next(iter(rand.by_seed))}"
        inputs.say(f"{row.label}: true clusters recovered in {recovered} ({index}); {models}.")
    return frame


def _difference(loss: Cell, excess: Cell) -> float:
    """Mean over seeds of the loss without its excess, NaN where a seed has no finite value."""
    if loss.mean is None or excess.mean is None or loss.seeds != excess.seeds:
        return math.nan
    return float(np.mean([value - excess.by_seed[seed] for seed, value in loss.by_seed.items()]))


# -- drawing ----------------------------------------------------------------------------------
def _draw_bars(axes: Axes, frame: pd.DataFrame) -> None:
    is_finite = frame["bayes"].notna()
    for at in frame.index[~is_finite]:
        style.write(axes, "×", (at, 0), (0, 4), color=style.RED)
    finite = frame[is_finite]
    low = np.minimum(finite["loss"], finite["bayes"])
    axes.bar(finite.index, low, _WIDTH, **_BAYES)
    for look, part in ((_EXCESS, finite["excess"] >= 0), (_NEGATIVE, finite["excess"] < 0)):
        axes.bar(finite.index[part], finite["excess"][part].abs(), _WIDTH, bottom=low[part], **look)
    spread = finite["loss_std"].where(finite["seeds"] > 1)
    axes.errorbar(finite.index, finite["loss"], spread, fmt="none", color=style.DARK, linewidth=0.8)
    axes.plot(finite.index, finite["bayes"] + finite["excess_reported"], zorder=4, **_PAPER)
    axes.set(xlim=(-0.5, len(frame) - 0.5), ylim=(0, None))
    axes.grid(axis="x", visible=False)


def _write_below(axes: Axes, frame: pd.DataFrame, names: dict[int, str], lines: int) -> None:
    """Write the agents, their models, and, `lines` lines below the axis, the true clusters between rules."""
    texts, heads = frame["agent"].astype(str), "agent"
    if frame["model"].notna().any():
        models = frame["model"].map("\n$w_{{{}}}$".format, na_action="ignore").fillna("")
        texts, heads = texts + models, "agent\nmodel"
    every = -(-len(frame) // 20)  # more of them would touch
    axes.set_xticks(range(0, len(frame), every), texts[::every])
    axes.tick_params(axis="x", length=0)
    style.write(axes, heads, (0, 0), (-4, -3.5), xycoords="axes fraction", ha="right", va="top")
    places = frame.reset_index().groupby("cluster")["index"].agg(["min", "mean"])
    for cluster, first, middle in places.itertuples():
        style.write(axes, names[cluster], (middle, 0), (0, -9 * lines - 4), va="top")
        axes.axvline(first - 0.5, color=style.GREY, linewidth=0.5)
