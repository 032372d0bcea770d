"""Dirichlet split per class. EAGLE appendix B.3 (after Hsu et al. 2019).

For each class c: q ~ Dir(alpha, ..., alpha) over the clients; the shuffled samples of the class are cut at
floor(cumsum(q) n_c). A client that ends up below `min_samples` would have no L*_k, so the whole draw is
repeated up to `max_draws` times; after that the poorest clients are topped up from the richest, and the
partition says so.
"""

import numpy as np
from pydantic import Field

from fairfl.partition.interface import Assignment, PartitionError, Table
from fairfl.spec.base import Strict


class Config(Strict):
    alpha: float = Field(gt=0, description="concentration; small: skewed labels, large: near IID")
    min_samples: int = Field(10, ge=1, description="fewest samples of a client")
    max_draws: int = Field(100, ge=1, description="draws before the fallback")


def deal(labels: np.ndarray, shares: dict[int, np.ndarray], clients: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Deal the samples of each class c by the shares q_c [clients]. Returns row indices per client."""
    dealt: list[list[np.ndarray]] = [[] for _ in range(clients)]
    for c, q in shares.items():
        rows = rng.permutation(np.flatnonzero(labels == c))
        # 1e-9: a cumulative share of 0.4 must cut 10 samples at 4 although 0.05 + 0.35 < 0.4 in floating point.
        cuts = np.floor(np.cumsum(q)[:-1] * len(rows) + 1e-9).astype(int)
        for client, piece in enumerate(np.split(rows, cuts)):
            dealt[client].append(piece)
    return [np.sort(np.concatenate(pieces)) for pieces in dealt]


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    """Raises PartitionError if there are fewer than clients x min_samples samples."""
    if len(table.labels) < clients * config.min_samples:
        raise PartitionError(
            f"{len(table.labels)} samples cannot give each of {clients} clients at least {config.min_samples}"
        )
    classes = np.unique(table.labels)
    for draw in range(1, config.max_draws + 1):
        shares = {int(c): _dirichlet(rng, config.alpha, clients) for c in classes}
        rows = deal(table.labels, shares, clients, rng)
        if min(map(len, rows)) >= config.min_samples:
            return Assignment(rows, [f"draw {draw} gave every client {config.min_samples} samples"])
    moved = _top_up(rows, config.min_samples, rng)
    return Assignment(
        rows,
        [
            f"none of {config.max_draws} draws gave every client {config.min_samples} samples: "
            f"{moved} samples of the last draw went from the richest clients to the poorest"
        ],
    )


def _dirichlet(rng: np.random.Generator, alpha: float, clients: int) -> np.ndarray:
    """Dir(alpha) that survives tiny alpha, where all gamma draws underflow to 0: then one client has all."""
    q = rng.dirichlet(np.full(clients, alpha))
    if not np.isfinite(q).all() or q.sum() == 0:
        q = np.zeros(clients)
        q[rng.integers(clients)] = 1.0
    return q


def _top_up(rows: list[np.ndarray], least: int, rng: np.random.Generator) -> int:
    moved = 0
    for poor in range(len(rows)):
        while len(rows[poor]) < least:
            rich = max(range(len(rows)), key=lambda k: len(rows[k]))
            # Never take the donor below the minimum; possible because N >= clients x least.
            count = min(least - len(rows[poor]), len(rows[rich]) - least)
            taken = rng.choice(rows[rich], size=count, replace=False)
            rows[rich] = np.setdiff1d(rows[rich], taken)
            rows[poor] = np.sort(np.concatenate([rows[poor], taken]))
            moved += count
    return moved
