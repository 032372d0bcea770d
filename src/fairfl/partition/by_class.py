"""One class per client. FedFV, Fashion-MNIST (after Li et al. 2020): client k owns every sample of class k."""

import numpy as np

from fairfl.experiments.base import Strict
from fairfl.partition.interface import Assignment, PartitionError, Table


class Config(Strict):
    """No parameters."""


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    """Raises PartitionError if the classes of the samples are not 0 to clients - 1."""
    labels = table.classes
    classes = np.unique(labels)
    if not np.array_equal(classes, np.arange(clients)):
        raise PartitionError(
            f"by_class gives class k to client k: {clients} clients need samples of the classes 0 to {clients - 1}, "
            f"the data have {len(classes)} classes from {classes[0]} to {classes[-1]}"
        )
    return Assignment([np.flatnonzero(labels == k) for k in range(clients)])
