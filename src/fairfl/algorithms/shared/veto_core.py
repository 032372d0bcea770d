"""The proportional veto core of a finite set of models, and veto by consumption, which elects one of it.

K clients rank J models by their losses L [K, J]. A coalition T with a set of models B blocks model a if all of T have a
smaller loss with every model of B and |T|/K + |B|/J > 1: T can veto the rest, as it is that large a share. The core is
what nobody blocks; it is never empty. Ianovski and Kondratev, Computing the Proportional Veto Core, AAAI 2021.

    excess(a) = max |T|/K + |B|/J - 1  over T, B not empty                   blocked: above 0

Veto by consumption: every model has mass 1, each client eats its worst model that is left, all at the same speed. The
last one to vanish is in the core.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor

# Clients up to which all coalitions are looked at.
ENUMERATED = 12


def worst_if_not_finite(L: Tensor) -> Tensor:
    """Losses [K, J] on the CPU; NaN and infinities are +infinity, the worst of all."""
    return torch.where(L.isfinite(), L, torch.inf).double().cpu()


def excess(L: Tensor) -> Tensor:
    """excess [J] float64 of losses [K, J]; -inf for a model that every client likes best.

    With more than ENUMERATED clients it is 0 in place of a negative excess: that is what the minimum cut finds then.
    """
    L = worst_if_not_finite(L)
    found = _excess_of_coalitions if len(L) <= ENUMERATED else _excess_by_cut
    return torch.tensor([found((L[:, [a]] > L).numpy()) for a in range(L.shape[1])], dtype=torch.float64)


def core(L: Tensor) -> Tensor:
    """Which models nobody blocks, [J] bool, of losses [K, J]."""
    return excess(L) <= 1e-9


def _excess_of_coalitions(better: np.ndarray) -> float:
    """excess of a model, over all coalitions; `better` [K, J] bool tells which ones each client prefers to it."""
    K, J = better.shape
    T = (np.arange(1, 2**K)[:, None] >> np.arange(K)) & 1
    B = (T @ ~better == 0).sum(1)
    shares = T.sum(1) / K + B / J
    return float(shares[B > 0].max(initial=-np.inf)) - 1


def _excess_by_cut(better: np.ndarray) -> float:
    """The same, or 0 if it is negative.

    T and B are independent in the graph between clients and models that are not better: the heaviest such set, with
    weights 1/K and 1/J, is all but the minimum cut. Weights are multiplied by K J, as flows are whole numbers.
    """
    K, J = better.shape
    source, sink = K + J, K + J + 1
    capacities = np.zeros((K + J + 2, K + J + 2), dtype=np.int32)
    capacities[source, :K] = J
    capacities[:K, K : K + J] = np.where(better, 0, K * J)
    capacities[K : K + J, sink] = K
    flow = maximum_flow(csr_array(capacities), source, sink).flow_value
    return 1 - flow / (K * J)


def vanishing(L: Tensor) -> list[Fraction]:
    """When each model has vanished, [J], exactly. Of equal losses of a client the first one counts as the worst."""
    orders = worst_if_not_finite(L).argsort(dim=1, descending=True, stable=True).tolist()
    mass = dict.fromkeys(range(L.shape[1]), Fraction(1))
    vanished, now = dict.fromkeys(mass, Fraction(0)), Fraction(0)
    while mass:
        eaters = Counter(next(a for a in order if a in mass) for order in orders)
        passed = min(mass[a] / count for a, count in eaters.items())
        now += passed
        for a, count in eaters.items():
            mass[a] -= passed * count
            if not mass[a]:
                vanished[a] = now
                del mass[a]
    return [vanished[a] for a in sorted(vanished)]


def elected(L: Tensor) -> int:
    """The model that vanishes last; of several the one of the lowest mean loss, then the first one."""
    times, means = vanishing(L), worst_if_not_finite(L).mean(0).tolist()
    return min(range(len(times)), key=lambda a: (-times[a], means[a], a))
