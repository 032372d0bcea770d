"""Where the value of a metric comes from, by its id. Cheap to import: the Snakefile asks on every parse."""

from collections.abc import Iterable
from typing import Literal

from fairfl.metrics.statistics import STATISTICS

Origin = Literal["tidy", "tuned", "statistics"]


def origin(metric: str) -> Origin:
    """tidy: measured by runs; tuned: chosen by fairfl.tune; statistics: counted in the partition.

    `learning_rate` and `hp_<name>`, a hyper-parameter by its name, are chosen.
    """
    if metric == "learning_rate" or metric.startswith("hp_"):
        return "tuned"
    return "statistics" if metric in STATISTICS else "tidy"


def origins(metrics: Iterable[str]) -> tuple[Origin, ...]:
    """Where the values of several metrics come from, each kind once."""
    return tuple(dict.fromkeys(map(origin, metrics)))
