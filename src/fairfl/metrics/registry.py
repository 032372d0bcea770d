"""Metrics by the ids that papers/*.yaml and the reported tables use."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairfl.metrics import fairness


@dataclass(frozen=True)
class Vectors:
    """Final values of one run over its clients, [K]; `best` is NaN where there is no local optimum."""

    loss: np.ndarray  # nats
    accuracy: np.ndarray  # fraction
    recall: np.ndarray  # fraction
    gap: np.ndarray  # nats


METRICS: dict[str, tuple[str, Callable[[Vectors], float]]] = {
    "gap_max": ("nats", lambda v: fairness.gap_max(v.gap)),
    "gap_min": ("nats", lambda v: fairness.gap_min(v.gap)),
    "gap_var": ("nats^2", lambda v: fairness.gap_var(v.gap)),
    "accuracy_balanced": ("fraction", lambda v: fairness.accuracy_mean(v.accuracy)),
    "accuracy_balanced_recall": ("fraction", lambda v: fairness.accuracy_mean(v.recall)),
    "loss_mean": ("nats", lambda v: float(np.mean(v.loss))),
}
PER_CLIENT: dict[str, tuple[str, Callable[[Vectors], np.ndarray]]] = {
    "loss_client": ("nats", lambda v: v.loss),
    "gap_client": ("nats", lambda v: v.gap),
    "accuracy_client": ("fraction", lambda v: v.accuracy),
}
# Of the local optima themselves (figure 2 of EAGLE); input is L*_k, [K] nats.
LOCAL: dict[str, tuple[str, Callable[[np.ndarray], float]]] = {
    "local_loss_min": ("nats", lambda best: float(np.min(best))),
    "local_loss_max": ("nats", lambda best: float(np.max(best))),
}


def evaluate(vectors: Vectors) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of every metric that the vectors allow."""
    rows = [(name, unit, function(vectors)) for name, (unit, function) in METRICS.items()]
    for name, (unit, function) in PER_CLIENT.items():
        rows += [(f"{name}_{k}", unit, float(value)) for k, value in enumerate(function(vectors))]
    return rows


def evaluate_local(best: np.ndarray) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of the local optima L*_k, [K] nats."""
    rows = [(name, unit, function(best)) for name, (unit, function) in LOCAL.items()]
    return rows + [(f"loss_client_{k}", "nats", float(value)) for k, value in enumerate(best)]
