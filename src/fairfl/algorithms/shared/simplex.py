"""The set of weights {v >= 0, sum v = total}."""

import torch
from torch import Tensor


def project_on_simplex(y: Tensor, total: float | Tensor = 1.0) -> Tensor:
    """Euclidean projection of y, [m], onto {v >= 0, sum v = total}."""
    u = y.sort(descending=True).values
    excess = (u.cumsum(0) - total) / torch.arange(1, len(u) + 1, dtype=u.dtype, device=u.device)
    # u - excess is positive up to rho and never after it; nowhere if total is 0.
    rho = (u > excess).sum()
    return (y - excess[(rho - 1).clamp(min=0)]).clamp(min=0)
