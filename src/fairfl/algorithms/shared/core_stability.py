"""Weights of the clients in CoreFed's direction, which Rank-Core-Fed takes as one of its candidates.

w_k = f_k / max(M - F_k, epsilon),  divided by their sum;    M = max(M, 1.2 max_k F_k) of the first round that ends
"""

import torch
from torch import Tensor


def utility_bound(before: Tensor, F: Tensor, M: float) -> Tensor:
    """M, [] nats: the one `before`, or, if that is 0, the option M or more by the losses F [m]."""
    return torch.where(before > 0, before, (1.2 * F.max()).clamp(min=M))


def core_weights(M: Tensor, F: Tensor, f: Tensor, epsilon: float) -> Tensor:
    """w [m] of sum 1, from losses F [m] in nats and factors f [m]."""
    w = f / (M - F).clamp(min=epsilon)
    return w / w.sum()
