"""local_only: every client trains alone. EAGLE section 3.2 and appendix B.1; yields the local optima L*_k.

No rounds: one job per client (fairfl.jobs.local_optimum) takes local steps from the shared initial model

    y <- y - eta grad L_k(y)

until the cap on epochs or until the curve of the training loss is flat; the y of lowest training loss is kept.
L*_k is then its loss on the client's validation part (used by the weights of EAGLE) and on its test part
(used by the tables). The paper does not say what flat means; `is_flat` is our reading.
"""

from collections.abc import Sequence

from fairfl.algorithms.interface import Algorithm
from fairfl.experiments.base import Strict


class Config(Strict):
    """No hyper-parameters: the stopping rule belongs to the setting (`local_optimum`)."""


def is_flat(losses: Sequence[float], window: int, tolerance: float) -> bool:
    """True if the lowest training loss (nats) fell by less than `tolerance`, relative, in the last `window` values.

    The lowest value and not the last one: full-batch descent at a large rate climbs for some steps before it falls on.
    """
    if len(losses) <= window:
        return False
    before, now = min(losses[:-window]), min(losses)
    return before - now < tolerance * abs(before)


class LocalOnly(Algorithm[Config]):
    is_federated = False
    incompatible_modifiers = ("server_momentum", "fedvarp", "dp", "lsr")  # nothing is sent
