"""Clients whose images are rotated: one cluster for each angle (FOCUS section 5.1 and appendices D.4, D.5, D.8).

The samples are assigned evenly at random, training and test parts of the data each for themselves, and a client's
images are turned by the angle of its cluster. With `mixture` 0.8 only so large a share of a client's images is turned
by that angle, and each of the c - 1 other angles takes an equal part of the rest (appendix D.8, scenario 2: 80, 10 and
10 %).
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from fairfl.experiments.base import DISTINCT, Strict
from fairfl.partition.interface import Assignment, PartitionError, Table


class Config(Strict):
    angles: Annotated[list[Literal[0, 90, 180, 270]], DISTINCT] = Field(
        min_length=1, description="angle of each cluster in degrees"
    )
    clients: list[Annotated[int, Field(ge=1)]] = Field(
        description="number of clients of each cluster; client 0 is in the first"
    )
    mixture: float = Field(
        1.0, gt=0, le=1, description="share of a client's images that have the angle of its cluster"
    )

    @field_validator("clients")
    @classmethod
    def _one_per_angle(cls, value: list[int], info: ValidationInfo) -> list[int]:
        angles = info.data.get("angles", value)
        if len(value) != len(angles):
            raise ValueError(
                f"{value} are {len(value)} clusters, angles {angles} are {len(angles)}"
            )
        return value

    def true_clusters(self) -> int:
        """Number of the clients' true clusters."""
        return len(self.clients)


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    """Raises PartitionError if the clusters do not add up to the clients."""
    sizes, total = config.clients, sum(config.clients)
    if total != clients:
        raise PartitionError(
            f"partition.clients: the clusters {sizes} have {total} clients, the setting has {clients}"
        )
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    quarters = np.array(config.angles) // 90
    rows: list[list[np.ndarray]] = [[] for _ in range(clients)]
    turns: list[list[np.ndarray]] = [[] for _ in range(clients)]
    for part in table.official_parts:
        for client, share in enumerate(np.array_split(rng.permutation(part), clients)):
            rows[client].append(share)  # in random order, so the first images are a random choice
            counts = angle_counts(len(share), clusters[client], len(sizes), config.mixture)
            turns[client].append(np.repeat(quarters, counts))
    dealt = [np.concatenate(shares) for shares in rows]
    order = [np.argsort(r) for r in dealt]
    return Assignment(
        rows=[r[o] for r, o in zip(dealt, order, strict=True)],
        clusters=clusters.tolist(),
        turns=[np.concatenate(t)[o] for t, o in zip(turns, order, strict=True)],
    )


def angle_counts(images: int, cluster: int, clusters: int, mixture: float) -> np.ndarray:
    """Numbers of a client's images with the angle of each cluster, [c]: round(0.1 n) each, its own the rest."""
    other = round((1 - mixture) / (clusters - 1) * images) if clusters > 1 else 0
    counts = np.full(clusters, other)
    counts[cluster] = images - other * (clusters - 1)
    return counts
