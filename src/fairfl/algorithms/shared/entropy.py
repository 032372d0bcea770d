"""Entropy-based aggregation (EBA), which FedEBA, FedEBA+ and Prac-FedEBA+ share; `fedeba` says what of it is known.

    w_k   = q_k exp(F_k / tau_t) / sum_j q_j exp(F_j / tau_t),    q_k = 1/m or n_k / sum_j n_j         eq. (4)
    tau_t = max(tau / (1 + kappa t)^s, 1e-6),    s = 0, 1, 1/2, 3: constant, linear, concave, convex   eq. (188)
    angle = arccos(F . 1 / (||F|| ||1||)) = arctan(std F / mean F)                                     section 4.3

with F_k / sum_j F_j for F_k in (4) where a reading takes shares of the loss; tau has no unit then.
A `config` has tau, tau_schedule, kappa, prior and weight_loss.
"""

from math import atan2, degrees
from typing import Any

from torch import Tensor

from fairfl.algorithms.interface import Received, Reports
from fairfl.runtime.errors import OptionError

LOSS = {"after": "loss_after", "before": "loss_received", "share": "loss_after"}  # by weight_loss
POWER = {"constant": 0.0, "linear": 1.0, "concave": 0.5, "convex": 3.0}  # s, by tau_schedule
FLOOR = 1e-6  # of tau


def temperature(t: int, config: Any, tau: float | None = None) -> float:
    """tau_t of eq. (188), t from 0. Raises OptionError for a schedule that would not move."""
    s = POWER[config.tau_schedule]
    if s and not config.kappa:
        raise OptionError(
            f"kappa: {config.kappa:g} keeps tau constant, tau_schedule is {config.tau_schedule}; "
            "9 / (rounds - 1) lets the linear one end at tau / 10"
        )
    return max((tau or config.tau) / (1 + config.kappa * t) ** s, FLOOR)


def weights(F: Tensor, received: Received, config: Any, tau: float | None = None) -> Tensor:
    """Eq. (4) for losses F, [m] in nats -> [m], of sum 1; `tau`, in nats, in place of the one of `config`."""
    tilt = (F - F.max()) / temperature(received.round, config, tau)
    return (received.shares(config.prior).log() + tilt).softmax(dim=0)


def losses(reports: Reports, config: Any) -> Tensor:
    """The losses that the aggregation goes by, [m] in nats, or as shares of their sum."""
    F = getattr(reports, LOSS[config.weight_loss])
    return shares(F) if config.weight_loss == "share" else F


def shares(F: Tensor) -> Tensor:
    """F_k / sum_j F_j of losses, [m]; zeros stay zeros."""
    return F / F.sum().clamp(min=1e-12)


def angle(F: Tensor) -> float:
    """Degrees between losses F, [m], and the diagonal: 0 exactly if they are equal, below 90 if none is negative."""
    if F.norm() < 1e-12:
        return 0.0
    return degrees(atan2((F - F.min()).std(correction=0), F.mean()))


def weighted(w: Tensor, vectors: Tensor) -> Tensor:
    """sum_k w_k v_k, w [m], v [m, P] -> [P]."""
    return w.to(vectors.dtype) @ vectors
