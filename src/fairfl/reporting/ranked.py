"""The ranks of an artifact's rows in each of its settings and over all."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairfl.experiments.variant import selected_by
from fairfl.judgement.ranks import interval, mean_ranks
from fairfl.reporting.inputs import Inputs, NoRunsError, ShownRow
from fairfl.runtime.errors import FairflError

COLUMNS = ["setting", "algorithm", "hyperparameters", "metric", "rank", "low", "high", "seeds"]
OVERALL = "all"  # stands in the columns setting and metric


@dataclass(frozen=True)
class Ranked:
    """k rows in N settings; rows stand by average rank, best first."""

    rows: list[ShownRow]
    metrics: dict[str, str]  # setting -> what ranks there
    places: np.ndarray  # [N, k]
    low: np.ndarray  # [k], ends of the interval of the average rank
    high: np.ndarray
    seeds: dict[str, int]

    @property
    def average(self) -> np.ndarray:
        """Over settings, [k]."""
        return self.places.mean(axis=0)

    def frame(self) -> pd.DataFrame:
        """COLUMNS of each setting and row, then those over all."""
        records = []
        for (setting, metric), ranks in zip(self.metrics.items(), self.places, strict=True):
            for row, rank in zip(self.rows, ranks, strict=True):
                records.append(
                    (
                        *row.names(setting).values(),
                        metric,
                        rank,
                        np.nan,
                        np.nan,
                        self.seeds[setting],
                    )
                )
        for row, *ends in zip(self.rows, self.average, self.low, self.high, strict=True):
            records.append((*row.names(OVERALL).values(), OVERALL, *ends, min(self.seeds.values())))
        return pd.DataFrame(records, columns=COLUMNS)


def split(inputs: Inputs, apart: list[str]) -> tuple[list[ShownRow], list[ShownRow]]:
    """The rows that have numbers: those to be ranked together, and rows that are a separate class."""
    rows, selected = inputs.measured(), {selected_by(text) for text in apart}
    own = [row for row in rows if selected & {row.algorithm, row.variant}]
    return [row for row in rows if row not in own], own


def ranked(inputs: Inputs, metrics: list[str], apart: list[str]) -> Ranked:
    """Ranks of the means over the seeds that all rows have, by the first of the metrics that the artifact has there.

    A setting in which a row has no number is left out and remarked upon. Raises NoRunsError if no setting or row is
    left, FairflError if a metric has no better direction.
    """
    rows, _ = split(inputs, apart)
    scores, used, ways = {}, {}, []
    for setting in inputs.settings if rows else ():
        columns = [set(inputs.spec.artifact.columns_for(row.algorithm, setting)) for row in rows]
        metric = next((name for name in metrics if all(name in own for own in columns)), None)
        cells = [
            inputs.cell(setting, row, metric)
            for row in rows
            if metric and row.setting in (None, setting)
        ]
        numbers = [cell.by_seed for cell in cells if cell]
        seeds = sorted(set.intersection(*map(set, numbers))) if len(numbers) == len(rows) else []
        if metric is None or not seeds:
            if numbers:  # where no method has a number it is not run, which is said anyway
                inputs.remark("Not ranked, a method has no number", [inputs.names[setting]])
            continue
        if (direction := inputs.spec.metrics[metric].direction) is None:
            raise FairflError(
                f"{inputs.where}: {metric} has no direction. Expected up or down under metrics"
            )
        scores[setting] = np.array([[one[seed] for one in numbers] for seed in seeds])
        used[setting] = metric
        ways.append(direction)
    if not used:
        raise NoRunsError("No setting in which all methods were run.")
    places = mean_ranks([*scores.values()], ways)
    low, high = interval([*scores.values()], ways)
    order = np.argsort(places.mean(axis=0), kind="stable")
    lengths = {setting: len(one) for setting, one in scores.items()}
    return Ranked(
        [rows[at] for at in order], used, places[:, order], low[order], high[order], lengths
    )


def ranked_by(inputs: Inputs, metrics: dict[str, str]) -> str:
    """'rank by mean'; where settings are ranked by different metrics, the remarks say which."""
    names = {setting: inputs.spec.metrics[metric].name for setting, metric in metrics.items()}
    first, *others = dict.fromkeys(names.values())
    for other in others:
        where = [inputs.names[setting] for setting, name in names.items() if name == other]
        inputs.remark(f"By {other} instead of {first}", where)
    return f"rank by {' or '.join([first, *others])}"
