"""Label shards. McMahan et al. 2017: samples sorted by label, cut into equal shards, a few shards per client.

A shard has floor(floor(N / K) / s) samples for K clients of s shards; the remainder at the end of the sorted list is
dropped. FedFV: CIFAR-10, 200 shards of 250 for 100 clients; MNIST, 400 shards of 150 for 200 clients. Where data come
with a test part of their own it is cut likewise and assigned alike: shard i of both parts has the same owner,
so that clients are tested on their own labels.
"""

import numpy as np
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.partition.interface import Assignment, PartitionError, Table


class Config(Strict):
    shards_per_client: int = Field(2, ge=1)


def shards(labels: np.ndarray, clients: int, per_client: int) -> list[np.ndarray]:
    """Row indices of each shard, before they are assigned. Raises PartitionError if a shard would be empty."""
    length = len(labels) // clients // per_client
    if length < 1:
        raise PartitionError(f"{clients * per_client} shards are more than {len(labels)} samples")
    order = np.argsort(labels, kind="stable")[: clients * per_client * length]
    return list(order.reshape(clients * per_client, length))


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    """Assign the shards at random, as many to each client. Raises PartitionError if a shard would be empty."""
    numbers = config.shards_per_client
    dealt = rng.permutation(clients * numbers).reshape(clients, numbers)
    parts = [(part, shards(table.classes[part], clients, numbers)) for part in table.official_parts]
    dropped = len(table.classes) - sum(len(piece) for _, pieces in parts for piece in pieces)
    rows = [
        np.sort(np.concatenate([part[pieces[i]] for part, pieces in parts for i in mine]))
        for mine in dealt
    ]
    remarks = (
        [f"{dropped} samples of the highest labels fill no shard and are dropped"]
        if dropped
        else []
    )
    return Assignment(rows, remarks, changed=remarks)
