"""The ranks of an artifact's rows in each of its settings and over all."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairfl.experiments.variant import selected_by
from fairfl.judgement.ranks import interval, mean_ranks
from fairfl.reporting.inputs import Inputs, Row
from fairfl.runtime.errors import FairflError

COLUMNS = ("setting", "algorithm", "hyperparameters", "metric", "rank", "low", "high", "seeds")
OVERALL = "all"  # stands in the columns setting and metric


@dataclass(frozen=True)
class Ranked:
    """k rows in N settings; rows stand by average rank, best first."""

    rows: list[Row]
    metrics: dict[str, str]  # setting -> what ranks there
    seeds: dict[str, int]
    places: np.ndarray  # [N, k]
    low: np.ndarray  # [k], ends of the interval of the average rank
    high: np.ndarray

    @property
    def average(self) -> np.ndarray:
        """Over settings, [k]."""
        return self.places.mean(axis=0)

    def frame(self) -> pd.DataFrame:
        """COLUMNS of each setting and row, then those over all."""
        records = [
            (*row.names(setting).values(), metric, self.places[at, number], np.nan, np.nan, self.seeds[setting])
            for at, (setting, metric) in enumerate(self.metrics.items())
            for number, row in enumerate(self.rows)
        ]
        overall = zip(self.rows, self.average, self.low, self.high, strict=True)
        least = min(self.seeds.values())
        records += [(*row.names(OVERALL).values(), OVERALL, *numbers, least) for row, *numbers in overall]
        return pd.DataFrame(records, columns=list(COLUMNS))


def split(inputs: Inputs, apart: list[str]) -> tuple[list[Row], list[Row]]:
    """The rows that have numbers: those to be ranked together, and those that are a class of their own."""
    rows, wanted = inputs.measured(), {selected_by(text) for text in apart}
    own = [row for row in rows if wanted & {row.algorithm, row.variant}]
    return [row for row in rows if row not in own], own


def ranked(inputs: Inputs, rows: list[Row], metrics: list[str], titles: dict[str, str]) -> Ranked | None:
    """Ranks of the means over the seeds that all rows have, by the first of the metrics that the artifact has there.

    A setting in which a row has no number is left out and remarked upon; None if no setting or row is left. Raises
    FairflError if a metric has no better direction.
    """
    artifact, described = inputs.spec.artifact, inputs.spec.metrics
    scores, used = {}, {}
    for setting in inputs.settings if rows else ():
        there = [m for m in metrics if all(m in artifact.columns_for(row.algorithm, setting) for row in rows)]
        if there and described[there[0]].direction not in ("up", "down"):
            raise FairflError(f"{inputs.name}: {there[0]} has no direction to rank by")
        cells = [inputs.cell(setting, row, there[0]) for row in rows if there and row in inputs.rows_in(setting)]
        found = [cell.by_seed for cell in cells if cell]
        seeds = sorted(set.intersection(*(set(one) for one in found))) if len(found) == len(rows) else []
        if seeds:
            used[setting] = there[0]
            scores[setting] = np.array([[one[seed] for one in found] for seed in seeds])
        else:
            inputs.remark("Not ranked, a method has no number", [titles.get(setting, setting)])
    if not used:
        return None
    ways = [described[metric].direction for metric in used.values()]
    places = mean_ranks([*scores.values()], ways)
    low, high = interval([*scores.values()], ways)
    order = np.argsort(places.mean(axis=0), kind="stable")
    number_of_seeds = {setting: len(one) for setting, one in scores.items()}
    return Ranked([rows[at] for at in order], used, number_of_seeds, places[:, order], low[order], high[order])


def ranked_by(inputs: Inputs, metrics: dict[str, str], titles: dict[str, str]) -> str:
    """'rank by mean'; where settings are ranked by different metrics, the remarks say which."""
    names = {setting: inputs.spec.metrics[metric].name for setting, metric in metrics.items()}
    first, *others = dict.fromkeys(names.values())
    for other in others:
        inputs.remark(f"By {other} instead of {first}", [titles.get(s, s) for s, name in names.items() if name == other])
    return f"rank by {' or '.join([first, *others])}"
