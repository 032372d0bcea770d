"""Where the value of a metric comes from, by its id. Cheap to import: the Snakefile asks on every parse."""

from collections.abc import Iterable
from typing import Literal

from fairfl.metrics.configuration import CONFIGURED
from fairfl.metrics.statistics import STATISTICS

Origin = Literal["tidy", "tuned", "statistics", "timed", "setting"]
Owner = Literal["variant", "algorithm", "setting"]
Reference = Literal["local_optimum", "surrogate"]

# What fairfl.jobs.timing measures, by what it is repeated on (FOCUS tables 9 and 12).
TRAINING = ("train_seconds_per_round", "train_seconds_per_model")
INFERENCE = ("inference_seconds",)
EVALUATING = (
    "metric_seconds_accuracy_parity",
    "metric_seconds_agnostic_loss",
    "metric_seconds_faa",
)
TIMED = (*TRAINING, *INFERENCE, *EVALUATING)


def origin(metric: str) -> Origin:
    """tidy: measured by runs; tuned: chosen by the job tune; statistics: counted in the partition; timed: seconds
    that the job timing measured; setting: stated by the setting itself.

    `learning_rate` and `hp_<name>`, a hyper-parameter by its name, are chosen.
    """
    if metric == "learning_rate" or metric.startswith("hp_"):
        return "tuned"
    if metric in STATISTICS:
        return "statistics"
    if metric in TIMED:
        return "timed"
    return "setting" if metric in CONFIGURED else "tidy"


def origins(metrics: Iterable[str]) -> tuple[Origin, ...]:
    """Where the values of several metrics come from, each kind once."""
    return tuple(dict.fromkeys(map(origin, metrics)))


def reference(metric: str) -> Reference | None:
    """What the losses behind a metric are compared with, as a setting names it; None: nothing."""
    if metric.startswith("gap_"):
        return "local_optimum"
    return "surrogate" if metric.startswith(("faa", "excess_")) else None


def owner(metric: str) -> Owner:
    """What has one value of a metric: an algorithm with its hyper-parameters, an algorithm, or the setting."""
    if (
        metric in EVALUATING
    ):  # the cost of a function of K numbers, whichever algorithm they come from
        return "setting"
    owners: dict[Origin, Owner] = {
        "tuned": "algorithm",
        "statistics": "setting",
        "setting": "setting",
    }
    return owners.get(origin(metric), "variant")
