"""Metrics by the ids that papers/*.yaml and the reported tables use."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

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

Vectors = dict[str, "pd.Series"]
"""Final values of one run by client id. A client without samples is not in them, a diverged one is NaN.

Losses are in nats (squared labels in a regression), the others are fractions: `gap` is above the local optimum,
`gap_validation` likewise on validation data, where gap is on others, `gap_mixed` the loss on gap's data above the local
optimum's on validation data, `excess` and `excess_last` above the surrogate at its best and its last epoch. A vector
that the run or the setting does not have is empty or left out, as a regression has no accuracy.
"""


# metric -> (unit, of what, function of it). Of the clients: values [K]; curve: mean accuracy over clients, fractions by
# evaluated round; baseline: accuracies a of a run and b of its baseline, [K] fractions; optimum: L*_k, [K] nats.
METRICS: dict[str, tuple[str, str, Callable[..., float]]] = {
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
    **{
        f"rounds_to_accuracy{p}": ("rounds", "curve", partial(rounds_to_accuracy, target=p / 100))
        for p in (45, 55, 60, 65, 70, 80, 85, 90)
    },
    "accuracy_area": ("fraction", "curve", accuracy_area),
    "improved_suffering_pct": ("percent", "baseline", baseline.improved_suffering),
    "improved_suffering_gain": ("fraction", "baseline", baseline.improved_suffering_gain),
    "cv_improvement_pct": ("percent", "baseline", baseline.cv_improvement),
    "degraded_well_pct": ("percent", "baseline", baseline.degraded_well),
    "degraded_well_gain": ("fraction", "baseline", baseline.degraded_well_gain),
    "accuracy_gain": (
        "fraction",
        "baseline",
        lambda a, b: fairness.accuracy_mean(a) - fairness.accuracy_mean(b),
    ),
    "accuracy_worst10_gain": (
        "fraction",
        "baseline",
        lambda a, b: accuracy_lowest(a, 10) - accuracy_lowest(b, 10),
    ),
    "local_loss_min": ("nats", "optimum", lambda best: float(np.min(best))),
    "local_loss_max": ("nats", "optimum", lambda best: float(np.max(best))),
}
PER_CLIENT: dict[str, tuple[str, str]] = {
    "loss_client": ("nats", "loss"),
    "gap_client": ("nats", "gap"),
    "gap_validation_client": ("nats", "gap_validation"),
    "excess_client": ("nats", "excess"),
    "accuracy_client": ("fraction", "accuracy"),
}
# Rounds that a paper might report in place of the last one: <metric>_<name> is of the one with the least of this, of
# the client accuracies [K], fractions.
ROUND_SELECTORS: dict[str, Callable[[np.ndarray], float]] = {
    "best_mean": lambda accuracies: -fairness.accuracy_mean(accuracies),
    "least_var": accuracy_var,
}
# What a run's summary says of the run as a whole, under "measures": metric -> unit. MB are 2^20 bytes.
SUMMED: dict[str, str] = {
    "comm_cost": "MB",  # exchanged in a round, both ways
    "comm_extra_cost": "MB",  # of that, beyond one model down and one up for every client of the round
    "fair_angle_share": "fraction",  # of the rounds with gradient alignment (FedEBA+)
    "parameter_0": "",  # of a model with one parameter
    "epsilon": "",  # of differential privacy
}
DIFFER = "each seed draws other owners, so there are no numbers of one client; give partition_seed"
# At other evaluations than the last one: <metric>_late, ...
KINDS = ("late", *ROUND_SELECTORS)
# Kinds of a metric by what it is of; all others are of the clients and have KINDS, and how much these scatter.
_OTHER_KINDS = {"optimum": ["validation"], "curve": [], "baseline": []}
# metric -> unit, of all that runs measure; those of each client by their family, loss_client for loss_client_7.
UNITS = {name: unit for name, (unit, _, _) in METRICS.items()} | SUMMED
UNITS |= {"assignment_rand": "", "n_skipped": "count", "n_late": "count"}
UNITS |= {
    f"{name}_{kind}": unit
    for name, (unit, of, _) in METRICS.items()
    for kind in _OTHER_KINDS.get(of, [*KINDS, "late_std"])
}
FAMILIES = {name: unit for name, (unit, _) in PER_CLIENT.items()} | {"cluster_client": ""}


def unit_of(metric: str, regression: bool = False) -> str | None:
    """Unit that a metric is measured in, such as nats; "" for a mere number; None: nothing measures it."""
    if origin(metric) != "tidy":
        return "seconds" if origin(metric) == "timed" else ""
    unit = UNITS.get(metric, FAMILIES.get(re.sub(r"_(\d+|k)$", "", metric)))
    if unit is None or metric in FAMILIES:
        return None
    return unit.replace("nats", "mse") if regression else unit


# Where clients overflow they are left out of a round, and the model stays: 1e35 is finite, by chance. Noise for privacy
# leaves losses of 1e5, and models that still predict something.
EXPLODED = 1e6


def measured(rounds: pd.DataFrame, part: str) -> pd.DataFrame:
    """Lines of a run's metrics with samples in `part`: the same index, columns loss, accuracy and recall.

    A model that diverged still predicts some class, so its accuracy and recall are a number that means nothing, while
    its loss is not finite, or above `EXPLODED` times the largest one at first (or 1): all are NaN. So are accuracy and
    recall in a regression.
    """
    nonempty = rounds[f"samples_{part}"].to_numpy() > 0
    names = ["loss", "accuracy", "recall"]
    values = np.column_stack([rounds[f"{name}_{part}"].to_numpy(float)[nonempty] for name in names])
    first = (rounds["round"] == rounds["round"].min()).to_numpy()[nonempty]
    limit = EXPLODED * values[first, 0].max(initial=1.0)
    values[~np.isfinite(values[:, 0]) | (values[:, 0] > limit)] = np.nan
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


def compute(values: Mapping[str, Sequence[Any]]) -> dict[str, float]:
    """Every metric of METRICS that `values` allow: of what -> arguments of its functions."""
    return {
        name: float(function(*values[of]))
        for name, (_, of, function) in METRICS.items()
        if of in values
    }


def evaluate(vectors: Vectors, clients: int) -> dict[str, float]:
    """Every metric that the vectors of K `clients` allow; none over no client at all."""
    each = {
        f"{family}_{k}": float(value)
        for family, (_, vector) in PER_CLIENT.items()
        for k, value in vectors.get(vector, {}).items()
    }
    return {**_over_clients(vectors), **each, "n_skipped": float(clients - len(vectors["loss"]))}


def _over_clients(vectors: Vectors) -> dict[str, float]:
    return compute({name: [of.to_numpy(float)] for name, of in vectors.items() if len(of)})


def evaluate_over(
    rounds: list[Vectors], kind: str, function: Callable[[list[float]], Any]
) -> dict[str, float]:
    """`<metric>_<kind>`: `function` of a metric's values in `rounds`, some evaluations of one run."""
    values: dict[str, list[float]] = {}
    for name, value in (item for each in rounds for item in _over_clients(each).items()):
        values.setdefault(f"{name}_{kind}", []).append(value)
    return {name: float(function(each)) for name, each in values.items()}


def evaluate_along(rounds: pd.DataFrame, part: str) -> dict[str, float]:
    """Metrics of all evaluated rounds of a run, by their mean accuracy over the clients with samples."""
    if not classified(rounds, part):
        return {}
    clients = by_round(measured(rounds, part)["accuracy"], rounds)
    means = {number: fairness.accuracy_mean(values) for number, (_, values) in clients.items()}
    return compute({"curve": [pd.Series(means, dtype=float)]})


def evaluate_assignment(memberships: ArrayLike, clusters: list[int] | None) -> dict[str, float]:
    """Metrics of memberships [K, M] of the clients in an algorithm's models, and of the true clusters."""
    models = assigned(memberships)
    metrics = {f"cluster_client_{k}": float(model) for k, model in enumerate(models)}
    return metrics | (
        {} if clusters is None else {"assignment_rand": adjusted_rand(models, clusters)}
    )


def evaluate_against(accuracy: pd.Series, base: pd.Series) -> dict[str, float]:
    """Metrics of a run's accuracies beside a baseline's, by client id; NaN if either diverged.

    None over no client at all. Raises FairflError if they are not of the same clients.
    """
    if not accuracy.index.equals(base.index):
        raise FairflError("a run and its baseline were not measured on the same clients")
    if accuracy.empty:
        return {}
    both = [accuracy.to_numpy(float), base.to_numpy(float)]
    metrics = compute({"baseline": both})
    return metrics if np.isfinite(both).all() else dict.fromkeys(metrics, np.nan)


def evaluate_local(best: np.ndarray, kind: str = "") -> dict[str, float]:
    """Metrics of the local optima L*_k, [K] nats; of a `kind` without the ones of single clients."""
    metrics = compute({"optimum": [best]})
    if kind:
        return {f"{name}_{kind}": value for name, value in metrics.items()}
    return metrics | {f"loss_client_{k}": float(value) for k, value in enumerate(best)}
