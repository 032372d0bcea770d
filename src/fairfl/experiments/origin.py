"""Origin of a metric's value, by its id, and the metrics that no run measures. Cheap to import: the Snakefile does."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

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
    """Origins of several metrics' values, each kind once."""
    return tuple(dict.fromkeys(map(origin, metrics)))


def reference(metric: str) -> Reference | None:
    """Reference of the losses behind a metric, as a setting names it; None: nothing."""
    if metric.startswith("gap_"):
        return "local_optimum"
    return "surrogate" if metric.startswith(("faa", "excess_")) else None


def owner(metric: str) -> Owner:
    """Owner of one value of a metric: an algorithm with its hyper-parameters, an algorithm, or the setting."""
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


# -- stated by the setting: FOCUS table 2 ------------------------------------------------------
CONFIGURED: dict[str, Callable[[Mapping[str, Any]], float | None]] = {
    "config_batch_size": lambda setting: (
        math.inf if setting["batch_size"] is None else setting["batch_size"]
    ),
    "config_learning_rate": lambda setting: setting["learning_rate"],
    "config_local_epochs": lambda setting: setting["local_epochs"],
    "config_rounds": lambda setting: setting["rounds"],
    "config_clusters": lambda setting: (
        setting["surrogate"]["clusters"] if setting["surrogate"] else None
    ),
}


COPIED = (*CONFIGURED, "num_clients")  # settings have them from where the paper prints them


def configured(setting: Mapping[str, Any]) -> dict[str, float]:
    """Values by metric id, from Setting.training(). A full batch is infinite; what is not stated is left out."""
    values = {name: function(setting) for name, function in CONFIGURED.items()}
    return {name: float(value) for name, value in values.items() if value is not None}


# -- counted in the partition: VRed table 2, the bound of GiFair's lambda in table 5 -------------
# Samples of each client, [K], by part: "train", "validation", "test".
Sizes = Mapping[str, Sequence[int]]


def lambda_bound(train: Sequence[int]) -> float:
    """min_k p_k / (K - 1), p_k = n_k / sum n: the largest lambda of GiFair that leaves every weight non-negative.

    NaN for one client.
    """
    return min(train) / sum(train) / (len(train) - 1) if len(train) > 1 else math.nan


STATISTICS: dict[str, Callable[[Sizes], float]] = {
    "num_clients": lambda sizes: len(sizes["train"]),
    "samples_train": lambda sizes: sum(sizes["train"]),
    "samples_validation": lambda sizes: sum(sizes["validation"]),
    "samples_test": lambda sizes: sum(sizes["test"]),
    "lambda_bound": lambda sizes: lambda_bound(sizes["train"]),
}
