"""Which clients a clustering algorithm put together, beside the true clusters (FOCUS)."""

import numpy as np
from numpy.typing import ArrayLike


def assigned(memberships: ArrayLike) -> np.ndarray:
    """Model of the largest share of each client, [K], from memberships [K, M]; NaN where one of them is not finite."""
    shares = np.asarray(memberships, dtype=float)
    return np.where(np.isfinite(shares).all(axis=1), shares.argmax(axis=1), np.nan)


def adjusted_rand(ours: ArrayLike, true: ArrayLike) -> float:
    """Adjusted Rand index of two clusterings of the same clients, [K] each: 1 the same but for the names, 0 chance.

    Of Hubert and Arabie: pairs of clients that both put together, scaled to the number expected by chance. NaN if a
    client is in no cluster.
    """
    ours, true = np.asarray(ours, dtype=float), np.asarray(true, dtype=float)
    if not (np.isfinite(ours).all() and np.isfinite(true).all()):
        return np.nan
    table = np.array(
        [[np.sum((ours == a) & (true == b)) for b in np.unique(true)] for a in np.unique(ours)]
    )
    together, in_ours, in_true = (_pairs(n) for n in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = in_ours * in_true / max(_pairs(table.sum()), 1)
    most = (in_ours + in_true) / 2
    return (
        float((together - expected) / (most - expected)) if most != expected else 1.0
    )  # both trivial, hence equal


def _pairs(sizes: np.ndarray) -> float:
    """Number of pairs within groups of these sizes."""
    return float(np.sum(sizes * (sizes - 1) / 2))
