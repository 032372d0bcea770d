"""Label shards. McMahan et al. 2017: samples sorted by label, cut into equal shards, a few shards per client.

The remainder at the end of the sorted list is dropped.
"""

import numpy as np
from pydantic import Field

from fairfl.partition.interface import Assignment, PartitionError, Table
from fairfl.spec.base import Strict


class Config(Strict):
    shards_per_client: int = Field(2, ge=1)


def shards(labels: np.ndarray, clients: int, per_client: int) -> list[np.ndarray]:
    """Row indices of each shard, before they are dealt. Raises PartitionError if a shard would be empty."""
    length = len(labels) // clients // per_client
    if length < 1:
        raise PartitionError(f"{clients * per_client} shards are more than {len(labels)} samples")
    order = np.argsort(labels, kind="stable")[: clients * per_client * length]
    return list(order.reshape(clients * per_client, length))


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    pieces = shards(table.labels, clients, config.shards_per_client)
    dealt = rng.permutation(len(pieces)).reshape(clients, config.shards_per_client)
    return Assignment([np.sort(np.concatenate([pieces[i] for i in own])) for own in dealt])
