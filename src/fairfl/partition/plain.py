"""Plain split: equal shares at random, or the clients that the data already have (synthetic data)."""

import numpy as np

from fairfl.experiments.base import Strict
from fairfl.partition.interface import Assignment, PartitionError, Table


class Config(Strict):
    """No parameters."""


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    """Raises PartitionError if the data's own clients are not as many as the setting asks for."""
    if table.client is None:
        order = rng.permutation(len(table.labels))
        return Assignment([np.sort(part) for part in np.array_split(order, clients)])
    owners = int(table.client.max()) + 1
    if owners != clients:
        raise PartitionError(f"the data come with {owners} clients, the setting asks for {clients}")
    ends = np.cumsum(np.bincount(table.client, minlength=clients))
    return Assignment(np.split(np.argsort(table.client, kind="stable"), ends[:-1]))
