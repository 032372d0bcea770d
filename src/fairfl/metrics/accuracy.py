"""Accuracies of the clients -> one number (FedFV tables 2 to 4, VRed table 6, FedEBA+ tables 1, 18 and 19).

All inputs are 1-d arrays over clients, fractions. NaN in, NaN out: a diverged client is never dropped silently.
"""

import numpy as np
from numpy.typing import ArrayLike


def accuracy_std(accuracy: ArrayLike) -> float:
    """Population standard deviation (divisor K). FedFV heads it "Var." and prints the standard deviation.

    So does FOCUS with its accuracy parity: appendix C writes a variance, but 0.049 at a mean of 0.929 can be none.
    """
    return float(np.std(np.asarray(accuracy, dtype=float)))


def accuracy_worst(accuracy: ArrayLike) -> float:
    """The worst client (VRed table 6)."""
    return float(np.min(np.asarray(accuracy, dtype=float)))


def tail(clients: int, percent: float) -> int:
    """Number of clients that `percent` % of them are: rounded down, at least one."""
    return max(1, int(percent / 100 * clients + 1e-9))  # 29 / 100 * 100 is 28.999999999999996


def accuracy_highest(accuracy: ArrayLike, percent: float) -> float:
    """Mean over the `percent` % of the clients with the highest accuracies."""
    ascending = np.sort(np.asarray(accuracy, dtype=float))  # NaN comes last
    return float(np.mean(ascending[-tail(ascending.size, percent) :]))


def accuracy_lowest(accuracy: ArrayLike, percent: float) -> float:
    """Mean over the `percent` % of the clients with the lowest accuracies."""
    return -accuracy_highest(-np.asarray(accuracy, dtype=float), percent)


def accuracy_percentile(accuracy: ArrayLike, percent: float) -> float:
    """`percent` % of the clients have less, between two clients linearly."""
    return float(np.percentile(np.asarray(accuracy, dtype=float), percent))


def accuracy_var(accuracy: ArrayLike) -> float:
    """Population variance (divisor K), fraction^2 (FedEBA+ table 1)."""
    return accuracy_std(accuracy) ** 2


def cv(accuracy: ArrayLike) -> float:
    """Coefficient of variation: standard deviation over mean (FedEBA+ table 18); NaN at mean 0."""
    mean = float(np.mean(np.asarray(accuracy, dtype=float)))
    return accuracy_std(accuracy) / mean if mean else np.nan


def angle_deg(accuracy: ArrayLike) -> float:
    """Angle between the vector of accuracies and the vector of ones, degrees (FedEBA+ table 19).

    It is arctan(cv), which, other than the arccos of the definition, keeps its digits at small angles.
    """
    return float(np.degrees(np.arctan(cv(accuracy))))


def kl_uniform(accuracy: ArrayLike) -> float:
    """KL(a / sum a || uniform), nats (FedEBA+ table 19); NaN where all accuracies are 0."""
    a = np.asarray(accuracy, dtype=float)
    if not a.sum():
        return np.nan
    p = a * a.size / a.sum()
    return float(np.mean(p * np.log(np.where(p > 0, p, 1.0))))
