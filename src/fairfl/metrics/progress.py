"""Mean accuracies along training -> one number (FOCUS tables 10 and 11, figure 2)."""

from __future__ import annotations

import numpy as np
import pandas as pd

# The last bits of a mean must not decide whether a target is reached.
_AT_THE_TARGET = 1e-12


def rounds_to_accuracy(accuracy: pd.Series, target: float) -> float:
    """First evaluated round in which the accuracy is at least `target`, infinite without one.

    `accuracy` are fractions by number of completed rounds, ascending. That it falls again later does not count, and a
    run that diverged (NaN) has reached what it had before.
    """
    reached = accuracy.index[accuracy.to_numpy() >= target - _AT_THE_TARGET]
    return float(reached[0]) if len(reached) else np.inf


def accuracy_area(accuracy: pd.Series) -> float:
    """Mean over the evaluated rounds from the first on: the area under the curve per round; NaN if one has none."""
    trained = accuracy[accuracy.index >= 1]
    return float(np.mean(trained.to_numpy(float))) if len(trained) else np.nan
