"""The proportional veto core of a finite set of models, and veto by consumption, which elects one of it.

K clients rank J models by their losses L [K, J]. A coalition T with a set of models B blocks model a if all of T have a
smaller loss with every model of B and |T|/K + |B|/J > 1: T can veto the rest, as it is that large a share. The core is
what no client blocks; it is never empty. Ianovski and Kondratev, Computing the Proportional Veto Core, AAAI 2021.

Veto by consumption: every model has mass 1, each client eats its worst model that is left, all at the same speed. The
last one to vanish is in the core.
"""

from collections import Counter
from fractions import Fraction

import torch
from torch import Tensor


def worst_if_not_finite(L: Tensor) -> Tensor:
    """Losses [K, J] on the CPU; NaN and infinities are +infinity, the worst of all."""
    return torch.where(L.isfinite(), L, torch.inf).double().cpu()


def vanishing(L: Tensor) -> list[Fraction]:
    """Time when each model vanishes, [J], exactly. Of equal losses of a client the first one counts as the worst."""
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
