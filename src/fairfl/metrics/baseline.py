"""A run beside a baseline run of the same setting and seed, client by client (VRed table 1, FedEBA+ table 18).

All inputs are finite accuracies [K] of the same clients, fractions: a_k of the run, b_k of the baseline. Clients below
the baseline's mean over clients suffer, those above it do well; a client at the mean is in neither group.
"""

import numpy as np

from fairfl.metrics.accuracy import cv

# The last bits of a mean must not put a client at the mean into a group.
_AT_THE_MEAN = 1e-12


def suffering(b: np.ndarray) -> np.ndarray:
    """[K] bool."""
    return b - b.mean() < -_AT_THE_MEAN


def well(b: np.ndarray) -> np.ndarray:
    """[K] bool."""
    return b - b.mean() > _AT_THE_MEAN


def percentage(condition: np.ndarray, group: np.ndarray) -> float:
    """Share of the group for which the condition holds, percent; 0 for an empty group."""
    return 100.0 * float(condition[group].mean()) if group.any() else 0.0


def gain(a: np.ndarray, b: np.ndarray, group: np.ndarray) -> float:
    """Mean of a_k - b_k over the whole group, fraction; NaN for an empty group."""
    return float((a - b)[group].mean()) if group.any() else np.nan


def improved_suffering(a: np.ndarray, b: np.ndarray) -> float:
    """Percent of the suffering clients that rise."""
    return percentage(a > b, suffering(b))


def improved_suffering_gain(a: np.ndarray, b: np.ndarray) -> float:
    """Mean of a_k - b_k over the suffering clients, fraction; NaN if none suffers."""
    return gain(a, b, suffering(b))


def degraded_well(a: np.ndarray, b: np.ndarray) -> float:
    """Percent of the clients that do well and fall."""
    return percentage(a < b, well(b))


def cv_improvement(a: np.ndarray, b: np.ndarray) -> float:
    """Decrease of the coefficient of variation, percent of the baseline's (FedEBA+ table 18)."""
    return 100.0 * (1 - cv(a) / cv(b)) if cv(b) else np.nan


def degraded_well_gain(a: np.ndarray, b: np.ndarray) -> float:
    """Negative if clients that do well lose on average."""
    return gain(a, b, well(b))
