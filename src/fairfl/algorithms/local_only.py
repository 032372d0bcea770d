"""local_only: every client trains alone. EAGLE section 3.2 and appendix B.1; yields the local optima L*_k.

No rounds: one job per client (fairfl.optimum) takes local steps from the shared initial model

    y <- y - eta grad L_k(y)

until the cap on epochs or until the curve of the training loss is flat. L*_k is then the loss of y on
the client's validation part (used by the weights of EAGLE) and on its test part (used by the tables).
The paper does not say what flat means; `is_flat` is our reading.
"""

from collections.abc import Sequence

from fairfl.spec.base import Strict

NEEDS = ()
ROUNDS = False


class Config(Strict):
    """No hyper-parameters: the stopping rule belongs to the setting (`local_optimum`)."""


def is_flat(losses: Sequence[float], window: int, tolerance: float) -> bool:
    """True if the training loss (nats) improved by less than `tolerance`, relative, over `window` epochs."""
    if len(losses) <= window:
        return False
    before, now = losses[-1 - window], losses[-1]
    return before - now < tolerance * abs(before)
