"""Clients of unequal size and equal mix of classes: shares q ~ Dir(alpha, ..., alpha) of samples shuffled once.

Each has `min_samples`, and its share of what is left.
"""

import numpy as np
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.partition.interface import Assignment, PartitionError, Table


class Config(Strict):
    alpha: float = Field(
        gt=0, description="concentration of the shares; small: few clients have nearly all"
    )
    min_samples: int = Field(10, ge=1, description="fewest samples of a client")


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    """Raises PartitionError if there are fewer than clients x min_samples samples."""
    order = rng.permutation(len(table.labels))
    free = len(order) - clients * config.min_samples
    if free < 0:
        raise PartitionError(
            f"{len(order)} samples cannot give each of {clients} clients at least {config.min_samples}"
        )
    # Floors of the cumulated shares of what is left beyond the minimum.
    cuts = np.floor(
        np.cumsum(rng.dirichlet(np.full(clients, config.alpha)))[:-1] * free + 1e-9
    ).astype(int)
    starts = cuts + config.min_samples * np.arange(1, clients)
    return Assignment([np.sort(part) for part in np.split(order, starts)])
