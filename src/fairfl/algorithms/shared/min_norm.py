"""The shortest vector d = sum_k lam_k u_k over a capped simplex, found from the inner products of the u_k alone.

    min_lam  lam' Q lam    s.t.  sum lam = 1,  lower <= lam <= upper,    Q_ij = u_i . u_j

Only d is unique: where the u_k depend on each other, several lam give the same d.
"""

import torch
from torch import Tensor

GAP = 1e-12
# What float64 cannot tell from zero, with room to spare: differences of slopes, and curvatures.
LEVEL, FLAT = 1e-13, 1e-15


def frank_wolfe_gap(lam: Tensor, Q: Tensor, lower: Tensor, upper: Tensor) -> float:
    """2 lam'Q lam - 2 min_v v'Q lam over the same set: at least how far lam' Q lam is above its minimum."""
    slope, order = (Q @ lam).sort()
    room = (upper - lower)[order]
    before = room.cumsum(0) - room
    v = lower[order] + torch.minimum(
        (1 - lower.sum() - before).clamp(min=0), room
    )  # the smallest slopes first
    return float(2 * (lam[order] - v) @ slope)


def min_norm(Q: Tensor, lower: Tensor, upper: Tensor, start: Tensor) -> Tensor:
    """The minimiser lam, [m] float64, by a primal active-set method from the feasible point `start`.

    Q [m, m] is positive semi-definite, singular if need be, with entries of about 1. Raises ArithmeticError if the
    Frank-Wolfe gap does not fall to GAP, which means that Q is not what it should be.
    """
    lam, free = start.clone(), (start > lower) & (start < upper)
    for _ in range(100 + 20 * len(lam)):
        if frank_wolfe_gap(lam, Q, lower, upper) <= GAP:
            return lam
        slope = Q @ lam
        if not free.any() or slope[free].max() - slope[free].min() <= LEVEL:
            # The free ones are where they should be. Release the two that gain most if one grows and the other shrinks.
            free = free.clone()
            free[slope.masked_fill(lam >= upper, torch.inf).argmin()] = True
            free[slope.masked_fill(lam <= lower, -torch.inf).argmax()] = True
        p = _direction(Q, slope, free)
        to_bound = torch.where(
            p > 0, (upper - lam) / p, torch.where(p < 0, (lower - lam) / p, torch.inf)
        )
        curvature = p @ Q @ p
        length = torch.where(curvature > 0, -(slope @ p) / curvature, torch.inf).minimum(
            to_bound.min()
        )
        hit = to_bound <= length
        lam = torch.where(hit, torch.where(p > 0, upper, lower), lam + length * p).clamp(
            lower, upper
        )
        free = free & ~hit
    raise ArithmeticError(
        f"min-norm weights: Frank-Wolfe gap {frank_wolfe_gap(lam, Q, lower, upper):.1e} above {GAP}"
    )


def min_quadratic(linear: Tensor, quadratic: Tensor, begin: Tensor) -> Tensor:
    """argmin <linear, p> + p' quadratic p / 2 over p >= 0, sum p = 1, sought from `begin`; [K], [K, K], [K] -> [K].

    There <linear, p> = p' (linear 1' + 1 linear') p / 2, as 1'p = 1, and neither a constant on `linear` nor a factor on
    both changes the minimiser.
    """
    linear = linear - linear.mean()
    Q = ((quadratic + linear + linear[:, None]) / quadratic.abs().max()).cpu()
    one = torch.ones(len(Q), dtype=Q.dtype)
    return min_norm(Q, 0 * one, one, begin.cpu()).to(linear.device)


def _direction(Q: Tensor, slope: Tensor, free: Tensor) -> Tensor:
    """Newton's direction among the free coordinates with sum 0, and 0 elsewhere, [m]."""
    F = free.nonzero().squeeze(1)
    H = Q[F][:, F]
    # On vectors of sum 0. The 1 gives the constant vector a curvature, so that rounding does not blow it up.
    H = H - H.mean(0) - H.mean(1, keepdim=True) + H.mean() + 1
    values, vectors = torch.linalg.eigh(H)
    newton = -vectors @ (vectors.T @ (slope[F] - slope[F].mean()) / values.clamp(min=FLAT))
    return torch.zeros_like(slope).index_copy(0, F, newton - newton.mean())
