"""Metrics by the ids that papers/*.yaml and the reported tables use."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from fairfl.errors import FairflError
from fairfl.metrics import baseline, fairness
from fairfl.metrics.accuracy import accuracy_highest, accuracy_lowest, accuracy_std, accuracy_worst

Vector = Literal["loss", "accuracy", "recall", "gap"]


@dataclass(frozen=True)
class Vectors:
    """Final values of one run by client id. A client without samples is not in them, a diverged one is NaN."""

    clients: int  # K
    loss: pd.Series  # nats
    accuracy: pd.Series  # fraction
    recall: pd.Series  # fraction
    gap: pd.Series  # nats; empty where there are no local optima


# metric -> (unit, over which vector, function of its values)
METRICS: dict[str, tuple[str, Vector, Callable[[np.ndarray], float]]] = {
    "gap_max": ("nats", "gap", fairness.gap_max),
    "gap_min": ("nats", "gap", fairness.gap_min),
    "gap_var": ("nats^2", "gap", fairness.gap_var),
    "accuracy_balanced": ("fraction", "accuracy", fairness.accuracy_mean),
    "accuracy_balanced_recall": ("fraction", "recall", fairness.accuracy_mean),
    "loss_mean": ("nats", "loss", lambda loss: float(np.mean(loss))),
    "loss_std": ("nats", "loss", lambda loss: float(np.std(loss))),
    "accuracy_mean": ("fraction", "accuracy", fairness.accuracy_mean),
    "accuracy_std": ("fraction", "accuracy", accuracy_std),
    "accuracy_worst": ("fraction", "accuracy", accuracy_worst),
    **{f"accuracy_worst{p}": ("fraction", "accuracy", partial(accuracy_lowest, percent=p)) for p in (5, 10, 20)},
    **{f"accuracy_best{p}": ("fraction", "accuracy", partial(accuracy_highest, percent=p)) for p in (5, 10, 20)},
}
PER_CLIENT: dict[str, tuple[str, Vector]] = {
    "loss_client": ("nats", "loss"),
    "gap_client": ("nats", "gap"),
    "accuracy_client": ("fraction", "accuracy"),
}
# Of a run's accuracies a and a baseline run's accuracies b, both [K] fractions.
AGAINST: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], float]]] = {
    "improved_suffering_pct": ("percent", baseline.improved_suffering),
    "improved_suffering_gain": ("fraction", baseline.improved_suffering_gain),
    "degraded_well_pct": ("percent", baseline.degraded_well),
    "degraded_well_gain": ("fraction", baseline.degraded_well_gain),
    "accuracy_gain": ("fraction", lambda a, b: fairness.accuracy_mean(a) - fairness.accuracy_mean(b)),
    "accuracy_worst10_gain": ("fraction", lambda a, b: accuracy_lowest(a, 10) - accuracy_lowest(b, 10)),
}
# Of the local optima themselves (figure 2 of EAGLE); input is L*_k, [K] nats.
LOCAL: dict[str, tuple[str, Callable[[np.ndarray], float]]] = {
    "local_loss_min": ("nats", lambda best: float(np.min(best))),
    "local_loss_max": ("nats", lambda best: float(np.max(best))),
}


def measured(rounds: pd.DataFrame, part: str) -> pd.DataFrame:
    """Lines of a run's metrics with samples in `part`: the same index, columns loss, accuracy and recall.

    Only a client without samples has no accuracy: 0 of 0 predictions are right. A model that diverged still predicts
    some class, so its accuracy and recall are a number that means nothing, while its loss is not finite.
    """
    own = rounds[rounds[f"accuracy_{part}"].notna()]
    values = pd.DataFrame({name: own[f"{name}_{part}"] for name in ("loss", "accuracy", "recall")})
    return values.mask(~np.isfinite(values["loss"]))


def evaluate(vectors: Vectors) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of every metric that the vectors allow; none over no client at all."""
    rows = []
    for name, (unit, vector, function) in METRICS.items():
        values = getattr(vectors, vector).to_numpy(float)
        rows += [(name, unit, function(values))] if len(values) else []
    for name, (unit, vector) in PER_CLIENT.items():
        rows += [(f"{name}_{k}", unit, float(value)) for k, value in getattr(vectors, vector).items()]
    return [*rows, ("n_skipped", "count", float(vectors.clients - len(vectors.accuracy)))]


def evaluate_against(accuracy: pd.Series, base: pd.Series) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of a run's accuracies beside a baseline's, by client id; NaN if either diverged.

    Raises FairflError if they are not of the same clients.
    """
    if not accuracy.index.equals(base.index):
        raise FairflError("a run and its baseline were not measured on the same clients")
    a, b = accuracy.to_numpy(float), base.to_numpy(float)
    finite = bool(np.isfinite(a).all() and np.isfinite(b).all())
    return [(name, unit, function(a, b) if finite else np.nan) for name, (unit, function) in AGAINST.items()]


def evaluate_local(best: np.ndarray) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of the local optima L*_k, [K] nats."""
    rows = [(name, unit, function(best)) for name, (unit, function) in LOCAL.items()]
    return rows + [(f"loss_client_{k}", "nats", float(value)) for k, value in enumerate(best)]
