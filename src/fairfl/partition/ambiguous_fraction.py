"""Clients with growing shares of ambiguous images. EAGLE section 4, DirtyMNIST.

Client k holds `per_client` rows, a share fractions[k] of them from the ambiguous part. The rows of one
distinct ambiguous image (its repeated labels) always go to the same client, whole groups at a time.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.partition.interface import Assignment, PartitionError, Table


class Config(Strict):
    fractions: list[Annotated[float, Field(ge=0, le=1)]] = Field(
        min_length=1, description="ambiguous share of each client"
    )
    per_client: int = Field(gt=0, description="rows of each client")


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    """Raises PartitionError if the data lack the ambiguous flag or enough rows of a kind."""
    if table.ambiguous is None:
        raise PartitionError(
            "ambiguous_fraction needs data with an `ambiguous` flag (dirty_mnist, ambiguous_digits)"
        )
    if len(config.fractions) != clients:
        raise PartitionError(f"{len(config.fractions)} fractions for {clients} clients")
    pools = {kind: _groups(table, kind, rng) for kind in (False, True)}
    rows = []
    for fraction in config.fractions:
        count = round(fraction * config.per_client)
        ambiguous = _take(pools[True], count, "ambiguous")
        clean = _take(pools[False], config.per_client - count, "clean")
        rows.append(np.sort(np.concatenate([ambiguous, clean])))
    return Assignment(rows)


def _groups(table: Table, ambiguous: bool, rng: np.random.Generator) -> list[np.ndarray]:
    """Row indices of each distinct image of one kind, in random order (a stack: taken from the end)."""
    rows = np.flatnonzero(table.ambiguous == ambiguous)
    order = rows[np.argsort(table.groups[rows], kind="stable")]
    edges = np.flatnonzero(np.diff(table.groups[order])) + 1
    groups = np.split(order, edges) if len(order) else []
    return [groups[i] for i in rng.permutation(len(groups))]


def _take(pool: list[np.ndarray], wanted: int, kind: str) -> np.ndarray:
    """Pop whole groups until `wanted` rows are there; a last group that is too large gives a part, rest unused."""
    rows: list[np.ndarray] = []
    missing = wanted
    while missing > 0:
        if not pool:
            raise PartitionError(
                f"{missing} of {wanted} {kind} rows are missing: the data set is too small"
            )
        group = pool.pop()[:missing]
        rows.append(group)
        missing -= len(group)
    return np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
