"""Every agent's loss, split into what no model of its cluster avoids and the rest (figures 1 and 3 of FOCUS).

One panel per row of the artifact, one bar per agent in the order of the true clusters. A bar is the mean over seeds of
the agent's loss L_e: the surrogate Bayes optimal loss B_e of its cluster, and on top of it its excess risk L_e - B_e.
Where the agent's model is better than the surrogate, the filled bar ends at L_e and an empty, hatched one reaches up
to B_e: there the excess risk is negative. Error bars are ± one population standard deviation of L_e over seeds.

Below the bars of an algorithm that clusters stand the models w_m that the agents follow (first seed). Circles are the
paper's excess risks on top of our B_e, drawn if nothing but the seeds differs from its setting and they are at hand.
Agents, clusters and models are numbered from 1, as in the paper.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import Affine2D, ScaledTranslation, Transform, blended_transform_factory
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.judgement.cells import Cell
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs, Row, mean_and_std
from fairfl.reporting.notes import seeds_text
from fairfl.runtime.errors import FairflError

NEEDS = ("tidy", "partition", "reported")
COLUMNS = (
    "setting", "algorithm", "hyperparameters", "agent", "cluster", "model", "loss", "loss_std", "bayes", "excess",
    "seeds", "excess_reported",
)  # fmt: skip

_WIDTH = 0.72  # of a bar, in agents
_LINE = 9.0  # height of a line below the axis, in points
_DARK = "#222222"
_BAYES: dict[str, Any] = {"facecolor": "#b4c1cc", "linewidth": 0}
_EXCESS: dict[str, Any] = {"facecolor": style.RED, "linewidth": 0}
_NEGATIVE: dict[str, Any] = {"facecolor": "none", "edgecolor": style.RED, "hatch": "//////", "linewidth": 0.7}
_PAPER: dict[str, Any] = {
    "color": _DARK, "marker": "o", "markersize": 4, "markerfacecolor": "white", "markeredgewidth": 0.9,
    "linestyle": "none",
}  # fmt: skip


class Config(Strict):
    clusters: list[str] = Field(
        default_factory=list, description="what is printed below the true clusters, in their order; empty: C1, C2, ..."
    )

    def metrics(self) -> list[str]:
        return ["excess_client_0"]


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    setting = inputs.settings[0]
    rows = inputs.measured(setting)
    agents = by_cluster(inputs, setting)
    names = _cluster_names(inputs, agents, config)
    panels = {row: _split(inputs, setting, row, agents) for row in rows}
    drawn = pd.concat(panels.values(), ignore_index=True)
    if drawn["excess"].isna().all():
        raise FairflError(
            f"{inputs.where}: the results of {setting} have no finite excess_client_0, excess_client_1, ..."
        )

    across = min(2, len(rows))
    wide = across > 1 or len(agents) > 12
    figure = style.canvas(style.PAGE if wide else style.COLUMN, 0.55 + 2.0 * -(-len(rows) // across))
    grid = style.panels(figure, len(rows), across, sharey=True)
    lines = 2 if drawn["model"].notna().any() else 1
    for axes, (row, frame) in zip(grid.flat, panels.items(), strict=False):
        axes.set_title(row.label)
        _bars(axes, frame)
        _below(axes, frame, names, lines)
    for axes in grid[:, 0]:
        axes.set_ylabel(f"loss ({_unit(inputs, setting, rows)})")
    style.legend_above(figure, _keys(drawn), None if wide else 2)
    if drawn["seeds"].max() > 1:
        inputs.say(f"Bars: mean over {seeds_text(drawn['seeds'])}; error bars: loss ± one standard deviation.")
    return figure, drawn[list(COLUMNS)]


def by_cluster(inputs: Inputs, setting: str) -> pd.DataFrame:
    """Columns client (from 0) and cluster (from 1, missing if the data have none), by true cluster, then by client.

    Raises FairflError if the results are not those of the partition's clients.
    """
    measured = {int(metric.rpartition("_")[2]) for metric in inputs.ours.members(setting, "loss_client_k")}
    if not measured:
        raise FairflError(f"{inputs.where}: the results of {setting} have no metric loss_client_0")
    clusters = inputs.clusters(setting)
    clients = max(measured) + 1 if clusters is None else len(clusters)
    if max(measured) >= clients:
        raise FairflError(f"{inputs.where}: {setting}: client {max(measured)} is none of the partition's {clients}")
    cluster = pd.array([pd.NA] * clients if clusters is None else clusters, dtype="Int64") + 1
    return pd.DataFrame({"client": range(clients), "cluster": cluster}).sort_values(["cluster", "client"])


def _cluster_names(inputs: Inputs, agents: pd.DataFrame, config: Config) -> dict[int, str]:
    """What is printed below each true cluster. Raises FairflError unless every cluster is named."""
    clusters = agents["cluster"].dropna().unique().tolist()
    names = config.clusters or [f"$C_{{{cluster}}}$" for cluster in clusters]
    if len(names) != len(clusters):
        raise FairflError(f"{inputs.where}.options.clusters: {len(names)} names {names} for {len(clusters)} clusters")
    return dict(zip(clusters, names, strict=True))


# -- numbers ----------------------------------------------------------------------------------
def _split(inputs: Inputs, setting: str, row: Row, agents: pd.DataFrame) -> pd.DataFrame:
    """COLUMNS of one row, one line per agent; NaN where a seed has no finite value."""
    clients = agents["client"].tolist()
    loss, excess, cluster = (
        [inputs.cell(setting, row, f"{family}_client_{client}") or Cell(None) for client in clients]
        for family in ("loss", "excess", "cluster")
    )
    frame = pd.DataFrame({
        **row.names(setting),
        "agent": [client + 1 for client in clients],
        "cluster": agents["cluster"].array,
        "model": pd.array([_first(cell) for cell in cluster], dtype="Int64") + 1,
        "loss": [mean_and_std(cell)[0] for cell in loss],
        "loss_std": [mean_and_std(cell)[1] for cell in loss],
        "bayes": [_difference(*cells) for cells in zip(loss, excess, strict=True)],
        "excess": [mean_and_std(cell)[0] for cell in excess],
        "seeds": max(cell.seeds for cell in (*loss, *excess)),
        "excess_reported": [inputs.reported_point(setting, row, f"excess_client_{client}") for client in clients],
    }).astype({"excess_reported": float})  # fmt: skip
    lost = frame["agent"][frame["bayes"].isna()]
    inputs.remark("No finite loss and excess risk, not drawn (×)", [f"{row.label} agent {agent}" for agent in lost])
    if frame["model"].notna().any():
        seed = next(seed for cell in cluster for seed in cell.by_seed)
        _say_assignment(inputs, row, inputs.cell(setting, row, "assignment_rand"), seed)
    return frame


def _first(cell: Cell) -> float | None:
    """The number of the first seed, None if there is none."""
    value = next(iter(cell.by_seed.values()), math.nan)
    return value if math.isfinite(value) else None


def _difference(loss: Cell, excess: Cell) -> float:
    """Mean over seeds of the loss without its excess, NaN where a seed has no finite value."""
    if loss.mean is None or excess.mean is None or loss.seeds != excess.seeds:
        return math.nan
    return float(np.mean([value - excess.by_seed[seed] for seed, value in loss.by_seed.items()]))


def _say_assignment(inputs: Inputs, row: Row, rand: Cell | None, seed: int) -> None:
    """Whether agents follow models as the true clusters have it; which model serves which cluster does not matter."""
    sentence = f"models shown: seed {seed}"
    if rand:
        values = list(rand.by_seed.values())
        count = f"{np.isclose(values, 1).sum()} of {len(values)} seed{'' if len(values) == 1 else 's'}"
        index = ", ".join(f"{value:.3g}" for value in values)
        sentence = f"true clusters recovered in {count} (adjusted Rand index {index}); {sentence}"
    inputs.say(f"{row.label}: {sentence}.")


# -- drawing ----------------------------------------------------------------------------------
def _bars(axes: Axes, frame: pd.DataFrame) -> None:
    for at, agent in enumerate(frame.itertuples()):
        if np.isnan(agent.bayes):
            axes.annotate("×", (at, 0), (0, 1), textcoords="offset points", ha="center", color=style.RED)
            continue
        axes.bar(at, min(agent.loss, agent.bayes), _WIDTH, **_BAYES)
        if agent.excess < 0:
            axes.bar(at, -agent.excess, _WIDTH, bottom=agent.loss, **_NEGATIVE)
        else:
            axes.bar(at, agent.excess, _WIDTH, bottom=agent.bayes, **_EXCESS)
        if agent.seeds > 1:
            axes.errorbar(at, agent.loss, agent.loss_std, color=_DARK, linewidth=0.8, capsize=1.8, capthick=0.8)
        if not np.isnan(agent.excess_reported):
            axes.plot(at, agent.bayes + agent.excess_reported, zorder=4, **_PAPER)
    axes.set(xlim=(-0.6, len(frame) - 0.4), ylim=(0, None))
    axes.grid(axis="x", visible=False)


def _below(axes: Axes, frame: pd.DataFrame, names: dict[int, str], lines: int) -> None:
    """The agents, the models that they follow, and, `lines` lines below the axis, a bracket for each true cluster."""
    texts = {"agent": frame["agent"].astype(str)}
    if frame["model"].notna().any():
        texts["model"] = frame["model"].map(lambda model: f"$w_{{{model}}}$", na_action="ignore").fillna("")
    axes.set_xticks([])
    every = -(-len(frame) // 20)  # more of them would touch
    for number, (head, labels) in enumerate(texts.items()):
        depth = _LINE * (number + 0.5) + 2
        _print(axes, axes.transAxes, -0.03, depth, head, ha="right")
        for at in range(0, len(frame), every):
            _print(axes, axes.transData, at, depth, labels.iloc[at])
    depth = _LINE * lines + 5
    for cluster, name in names.items():
        places = np.flatnonzero(frame["cluster"] == cluster)
        ends = [places[0] - _WIDTH / 2, places[-1] + _WIDTH / 2]
        bracket = Line2D([ends[0], *ends, ends[1]], [3 - depth, -depth, -depth, 3 - depth], color=_DARK, linewidth=0.7)
        bracket.set(transform=_points_below(axes, axes.transData), clip_on=False)
        axes.add_artist(bracket)
        _print(axes, axes.transData, sum(ends) / 2, depth + 2, name, va="top")


def _print(axes: Axes, across: Transform, x: float, depth: float, text: str, ha: str = "center", **given: Any) -> None:
    """Write below the axis: x in the units of `across`, depth in points."""
    look: dict[str, Any] = {"fontsize": 7, "ha": ha, "va": "center"} | given
    axes.text(x, -depth, text, transform=_points_below(axes, across), **look)


def _points_below(axes: Axes, across: Transform) -> Transform:
    """x as `across` has it, y in points above the lower edge of the panel."""
    # matplotlib does not say that transAxes is affine.
    corner = ScaledTranslation(0, 0, axes.transAxes)  # type: ignore[arg-type]
    points = Affine2D().scale(1 / 72) + axes.figure.dpi_scale_trans + corner
    return blended_transform_factory(across, points)


def _keys(drawn: pd.DataFrame) -> list[Artist]:
    keys: list[Artist] = [
        Patch(**_BAYES, label="surrogate Bayes optimal loss"),
        Patch(**_EXCESS, label="excess risk"),
    ]
    if (drawn["excess"] < 0).any():
        keys.append(Patch(**_NEGATIVE, label="negative excess risk"))
    if drawn["excess_reported"].notna().any():
        keys.append(style.key(label="the paper's excess risk", **_PAPER))
    return keys


def _unit(inputs: Inputs, setting: str, rows: list[Row]) -> str:
    metrics = inputs.ours.members(setting, "loss_client_k")
    cells = (inputs.cell(setting, row, metric) for row in rows for metric in metrics)
    return next(cell.unit for cell in cells if cell)
