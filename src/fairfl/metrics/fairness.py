"""Client vectors -> metrics. All inputs are 1-d arrays over clients; fractions, nats.

Definitions follow the papers; each function names its place. NaN in, NaN out: a diverged client is never
dropped silently.
"""

import numpy as np
from numpy.typing import ArrayLike


def gaps(loss: ArrayLike, best: ArrayLike) -> np.ndarray:
    """Loss gaps r_k = L_k(x) - L*_k, nats (EAGLE definition 2)."""
    return np.asarray(loss, dtype=float) - np.asarray(best, dtype=float)


def gap_max(r: ArrayLike) -> float:
    """max_k r_k: the worst client; lower is better (EAGLE tables)."""
    return float(np.max(np.asarray(r, dtype=float)))


def gap_min(r: ArrayLike) -> float:
    """min_k r_k: the client that gains most (EAGLE tables)."""
    return float(np.min(np.asarray(r, dtype=float)))


def gap_var(r: ArrayLike, ddof: int = 1) -> float:
    """Variance of the gaps, nats^2. EAGLE eq. (2): V is the sample variance, ddof = 1; 0 for one client."""
    r = np.asarray(r, dtype=float)
    return float(np.var(r, ddof=ddof)) if r.size > ddof else 0.0 * float(r.sum())


def accuracy_mean(accuracy: ArrayLike) -> float:
    """Unweighted mean over clients of the client accuracy: EAGLE's "balanced accuracy across clients"."""
    return float(np.mean(np.asarray(accuracy, dtype=float)))


def faa(excess: ArrayLike) -> float:
    """Fairness via agent awareness, nats (FOCUS definition 3.1): the largest difference of two clients' excess risks.

    max_k E_k - min_k E_k, of E_k = L_k - B_k, where B_k is the loss of the surrogate of k's true cluster.
    """
    return gap_max(excess) - gap_min(excess)


def agnostic_loss(loss: ArrayLike) -> float:
    """max_k L_k, nats (FOCUS section 5.1)."""
    return float(np.max(np.asarray(loss, dtype=float)))


def loss_gap(loss: ArrayLike) -> float:
    """Largest difference of two clients' losses (FedEBA+ figure 1, of two clients)."""
    return gap_max(loss) - gap_min(loss)


def loss_mean(loss: ArrayLike) -> float:
    """Unweighted mean over clients, nats."""
    return float(np.mean(np.asarray(loss, dtype=float)))


def loss_std(loss: ArrayLike) -> float:
    """Population standard deviation (divisor K), nats; FOCUS table 1 calls it loss parity."""
    return float(np.std(np.asarray(loss, dtype=float)))
