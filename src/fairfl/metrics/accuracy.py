"""Accuracies of the clients -> one number (FedFV tables 2 to 4, VRed table 6).

All inputs are 1-d arrays over clients, fractions. NaN in, NaN out: a diverged client is never dropped silently.
"""

import numpy as np
from numpy.typing import ArrayLike


def accuracy_std(accuracy: ArrayLike) -> float:
    """Population standard deviation (divisor K). FedFV heads it "Var." and prints the standard deviation.

    So does FOCUS with its accuracy parity: appendix D.2 writes a variance, but 0.049 at a mean of 0.929 can be none.
    """
    return float(np.std(np.asarray(accuracy, dtype=float)))


def accuracy_worst(accuracy: ArrayLike) -> float:
    """The worst client (VRed table 6)."""
    return float(np.min(np.asarray(accuracy, dtype=float)))


def tail(clients: int, percent: float) -> int:
    """How many clients `percent` % of them are: rounded down, at least one."""
    return max(1, int(percent / 100 * clients + 1e-9))  # 29 / 100 * 100 is 28.999999999999996


def accuracy_highest(accuracy: ArrayLike, percent: float) -> float:
    """Mean over the `percent` % of the clients with the highest accuracies."""
    ascending = np.sort(np.asarray(accuracy, dtype=float))  # NaN comes last
    return float(np.mean(ascending[-tail(ascending.size, percent) :]))


def accuracy_lowest(accuracy: ArrayLike, percent: float) -> float:
    """Mean over the `percent` % of the clients with the lowest accuracies."""
    return -accuracy_highest(-np.asarray(accuracy, dtype=float), percent)
