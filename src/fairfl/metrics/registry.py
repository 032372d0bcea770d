"""Metrics by the ids that papers/*.yaml and the reported tables use."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairfl.experiments.origin import origin
from fairfl.metrics import baseline, fairness
from fairfl.metrics.accuracy import (
    accuracy_highest,
    accuracy_lowest,
    accuracy_percentile,
    accuracy_std,
    accuracy_var,
    accuracy_worst,
    angle_deg,
    cv,
    kl_uniform,
)
from fairfl.metrics.clusters import adjusted_rand, assigned
from fairfl.metrics.progress import accuracy_area, rounds_to_accuracy
from fairfl.runtime.errors import FairflError

Vector = Literal[
    "loss", "accuracy", "recall", "gap", "gap_validation", "gap_mixed", "excess", "excess_last"
]


def _nobody() -> pd.Series:
    return pd.Series(dtype=float)


@dataclass(frozen=True)
class Vectors:
    """Final values of one run by client id. A client without samples is not in them, a diverged one is NaN.

    Losses are in nats (squared labels in a regression), the others are fractions. Empty: the run or the setting has
    none, as a regression has no accuracy.
    """

    clients: int  # K
    loss: pd.Series
    accuracy: pd.Series = field(default_factory=_nobody)
    recall: pd.Series = field(default_factory=_nobody)
    gap: pd.Series = field(default_factory=_nobody)  # above the local optimum
    gap_validation: pd.Series = field(
        default_factory=_nobody
    )  # likewise on validation data, where gap is on others
    gap_mixed: pd.Series = field(
        default_factory=_nobody
    )  # loss on gap's data, above the local optimum's on validation data
    excess: pd.Series = field(default_factory=_nobody)  # above the surrogate at its best epoch
    excess_last: pd.Series = field(default_factory=_nobody)  # above the surrogate at its last epoch


# metric -> (unit, over which vector, function of its values)
METRICS: dict[str, tuple[str, Vector, Callable[[np.ndarray], float]]] = {
    "gap_max": ("nats", "gap", fairness.gap_max),
    "gap_min": ("nats", "gap", fairness.gap_min),
    "gap_var": ("nats^2", "gap", fairness.gap_var),
    "gap_max_validation": ("nats", "gap_validation", fairness.gap_max),
    "gap_min_validation": ("nats", "gap_validation", fairness.gap_min),
    "gap_var_validation": ("nats^2", "gap_validation", fairness.gap_var),
    "gap_max_mixed": ("nats", "gap_mixed", fairness.gap_max),
    "gap_min_mixed": ("nats", "gap_mixed", fairness.gap_min),
    "gap_var_mixed": ("nats^2", "gap_mixed", fairness.gap_var),
    "gap_var_population": ("nats^2", "gap", partial(fairness.gap_var, ddof=0)),
    "accuracy_balanced": ("fraction", "accuracy", fairness.accuracy_mean),
    "accuracy_balanced_recall": ("fraction", "recall", fairness.accuracy_mean),
    "loss_mean": ("nats", "loss", fairness.loss_mean),
    "loss_std": ("nats", "loss", fairness.loss_std),
    "loss_parity": ("nats", "loss", fairness.loss_std),
    "loss_gap": ("nats", "loss", fairness.loss_gap),
    "agnostic_loss": ("nats", "loss", fairness.agnostic_loss),
    "faa": ("nats", "excess", fairness.faa),
    "faa_last": ("nats", "excess_last", fairness.faa),
    "accuracy_mean": ("fraction", "accuracy", fairness.accuracy_mean),
    "accuracy_global": ("fraction", "accuracy", fairness.accuracy_mean),
    "accuracy_var": ("fraction^2", "accuracy", accuracy_var),
    "cv": ("fraction", "accuracy", cv),
    "angle_deg": ("degree", "accuracy", angle_deg),
    "kl_uniform": ("nats", "accuracy", kl_uniform),
    "accuracy_std": ("fraction", "accuracy", accuracy_std),
    "accuracy_parity": ("fraction", "accuracy", accuracy_std),
    "accuracy_worst": ("fraction", "accuracy", accuracy_worst),
    **{
        f"accuracy_worst{p}": ("fraction", "accuracy", partial(accuracy_lowest, percent=p))
        for p in (5, 10, 20)
    },
    **{
        f"accuracy_best{p}": ("fraction", "accuracy", partial(accuracy_highest, percent=p))
        for p in (5, 10, 20)
    },
    **{
        f"accuracy_percentile{p}": ("fraction", "accuracy", partial(accuracy_percentile, percent=p))
        for p in (5, 95)
    },
}
PER_CLIENT: dict[str, tuple[str, Vector]] = {
    "loss_client": ("nats", "loss"),
    "gap_client": ("nats", "gap"),
    "gap_validation_client": ("nats", "gap_validation"),
    "excess_client": ("nats", "excess"),
    "accuracy_client": ("fraction", "accuracy"),
}
# Of the mean accuracy over the clients, fractions by evaluated round.
CURVE_METRICS: dict[str, tuple[str, Callable[[pd.Series], float]]] = {
    **{
        f"rounds_to_accuracy{percent}": (
            "rounds",
            partial(rounds_to_accuracy, target=percent / 100),
        )
        for percent in (45, 55, 60, 65, 70, 80, 85, 90)
    },
    "accuracy_area": ("fraction", accuracy_area),
}
# Rounds that a paper might report in place of the last one: <metric>_<name> is of the one with the least of this, of
# the client accuracies [K], fractions.
ROUND_SELECTORS: dict[str, Callable[[np.ndarray], float]] = {
    "best_mean": lambda accuracies: -fairness.accuracy_mean(accuracies),
    "least_var": accuracy_var,
}
# Of a run's accuracies a and a baseline run's accuracies b, both [K] fractions.
BASELINE_METRICS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], float]]] = {
    "improved_suffering_pct": ("percent", baseline.improved_suffering),
    "improved_suffering_gain": ("fraction", baseline.improved_suffering_gain),
    "cv_improvement_pct": ("percent", baseline.cv_improvement),
    "degraded_well_pct": ("percent", baseline.degraded_well),
    "degraded_well_gain": ("fraction", baseline.degraded_well_gain),
    "accuracy_gain": (
        "fraction",
        lambda a, b: fairness.accuracy_mean(a) - fairness.accuracy_mean(b),
    ),
    "accuracy_worst10_gain": (
        "fraction",
        lambda a, b: accuracy_lowest(a, 10) - accuracy_lowest(b, 10),
    ),
}
# What a run's summary says of the run as a whole, under "measures": metric -> unit. MB are 2^20 bytes.
SUMMED: dict[str, str] = {
    "comm_cost": "MB",  # exchanged in a round, both ways
    "comm_extra_cost": "MB",  # of that, beyond one model down and one up for every client of the round
    "fair_angle_share": "fraction",  # of the rounds with gradient alignment (FedEBA+)
    "parameter_0": "",  # of a model with one parameter
    "epsilon": "",  # of differential privacy
}
# Of the local optima themselves (figure 2 of EAGLE); input is L*_k, [K] nats.
LOCAL: dict[str, tuple[str, Callable[[np.ndarray], float]]] = {
    "local_loss_min": ("nats", lambda best: float(np.min(best))),
    "local_loss_max": ("nats", lambda best: float(np.max(best))),
}
DIFFER = "each seed draws other owners, so there are no numbers of one client; give partition_seed"
# Of <metric>_late and the like, at other evaluations than the last one.
KINDS = ("late", *ROUND_SELECTORS)
# metric -> unit, of all that runs measure; those of each client by their family, loss_client for loss_client_7.
UNITS = {
    name: entry[0]
    for table in (METRICS, CURVE_METRICS, BASELINE_METRICS, LOCAL)
    for name, entry in table.items()
}
UNITS |= SUMMED | {"assignment_rand": "", "n_skipped": "count"}
UNITS |= {f"{name}_{kind}": UNITS[name] for name in METRICS for kind in KINDS} | {
    f"{name}_validation": UNITS[name] for name in LOCAL
}
FAMILIES = {name: unit for name, (unit, _) in PER_CLIENT.items()} | {"cluster_client": ""}


def unit_of(metric: str, regression: bool = False) -> str | None:
    """What a metric is measured in, 'nats' for instance; '' for a mere number; None: nothing measures it."""
    if origin(metric) != "tidy":
        return "seconds" if origin(metric) == "timed" else ""
    unit = UNITS.get(metric, FAMILIES.get(re.sub(r"_(\d+|k)$", "", metric)))
    if unit is None or metric in FAMILIES:
        return None
    return unit.replace("nats", "mse") if regression else unit


def measured(rounds: pd.DataFrame, part: str) -> pd.DataFrame:
    """Lines of a run's metrics with samples in `part`: the same index, columns loss, accuracy and recall.

    A model that diverged still predicts some class, so its accuracy and recall are a number that means nothing, while
    its loss is not finite: all are NaN. So are accuracy and recall in a regression.
    """
    nonempty = rounds[f"samples_{part}"].to_numpy() > 0
    names = ["loss", "accuracy", "recall"]
    values = np.column_stack([rounds[f"{name}_{part}"].to_numpy(float)[nonempty] for name in names])
    values[~np.isfinite(values[:, 0])] = np.nan
    return pd.DataFrame(values, rounds.index[nonempty], names)


def by_round(values: pd.Series, rounds: pd.DataFrame) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """(client ids, values) of each evaluated round, ascending, of some lines of a run's metrics."""
    lines = rounds.index.get_indexer(values.index)
    numbers = rounds["round"].to_numpy()[lines]
    order = np.argsort(numbers, kind="stable")
    evaluated, starts = np.unique(numbers[order], return_index=True)
    clients, found = rounds["client"].to_numpy()[lines], values.to_numpy(float)
    return {
        int(number): (clients[part], found[part])
        for number, part in zip(evaluated, np.split(order, starts[1:]), strict=False)
    }


def classified(rounds: pd.DataFrame, part: str) -> bool:
    """False for a regression, which predicts no classes; a model that diverged predicts some."""
    return bool(rounds[f"accuracy_{part}"].notna().any())


def evaluate(vectors: Vectors) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of every metric that the vectors allow; none over no client at all."""
    rows = _over_clients(vectors)
    for name, (unit, vector) in PER_CLIENT.items():
        rows += [
            (f"{name}_{k}", unit, float(value)) for k, value in getattr(vectors, vector).items()
        ]
    return [*rows, ("n_skipped", "count", float(vectors.clients - len(vectors.loss)))]


def _over_clients(vectors: Vectors) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of METRICS."""
    values = {name: getattr(vectors, name).to_numpy(float) for name in get_args(Vector)}
    return [
        (name, unit, function(values[vector]))
        for name, (unit, vector, function) in METRICS.items()
        if len(values[vector])
    ]


def evaluate_over(
    rounds: list[Vectors], kind: str, function: Callable[[list[float]], Any]
) -> list[tuple[str, str, float]]:
    """(`<metric>_<kind>`, unit, `function` of its values in `rounds`) of METRICS at some evaluations of one run."""
    values: dict[tuple[str, str], list[float]] = {}
    for vectors in rounds:
        for name, unit, value in _over_clients(vectors):
            values.setdefault((f"{name}_{kind}", unit), []).append(value)
    return [(name, unit, float(function(each))) for (name, unit), each in values.items()]


def evaluate_along(rounds: pd.DataFrame, part: str) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of all evaluated rounds of a run, by their mean accuracy over the clients with samples."""
    if not classified(rounds, part):
        return []
    clients = by_round(measured(rounds, part)["accuracy"], rounds)
    means = {number: fairness.accuracy_mean(values) for number, (_, values) in clients.items()}
    curve = pd.Series(means, dtype=float)
    return [(name, unit, function(curve)) for name, (unit, function) in CURVE_METRICS.items()]


def evaluate_summary(measures: dict[str, float]) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of what a run's summary measured of the run as a whole."""
    return [(name, SUMMED[name], float(value)) for name, value in measures.items()]


def evaluate_assignment(
    memberships: ArrayLike, clusters: list[int] | None
) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of memberships [K, M] of the clients in an algorithm's models, and of the true clusters."""
    models = assigned(memberships)
    rows = [(f"cluster_client_{k}", "", float(model)) for k, model in enumerate(models)]
    return (
        rows
        if clusters is None
        else [*rows, ("assignment_rand", "", adjusted_rand(models, clusters))]
    )


def evaluate_against(accuracy: pd.Series, base: pd.Series) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of a run's accuracies beside a baseline's, by client id; NaN if either diverged.

    None over no client at all. Raises FairflError if they are not of the same clients.
    """
    if not accuracy.index.equals(base.index):
        raise FairflError("a run and its baseline were not measured on the same clients")
    if accuracy.empty:
        return []
    a, b = accuracy.to_numpy(float), base.to_numpy(float)
    finite = bool(np.isfinite(a).all() and np.isfinite(b).all())
    return [
        (name, unit, function(a, b) if finite else np.nan)
        for name, (unit, function) in BASELINE_METRICS.items()
    ]


def evaluate_local(best: np.ndarray, suffix: str = "") -> list[tuple[str, str, float]]:
    """(metric, unit, value) of the local optima L*_k, [K] nats; with a suffix of what is not of each client."""
    rows = [(f"{name}{suffix}", unit, function(best)) for name, (unit, function) in LOCAL.items()]
    if suffix:
        return rows
    return rows + [(f"loss_client_{k}", "nats", float(value)) for k, value in enumerate(best)]
