"""The classes of the samples, for rules that go by them."""

import numpy as np

from fairfl.partition.interface import PartitionError, Table


def classes_of(table: Table) -> np.ndarray:
    """Class of each row, [N]. Raises PartitionError if the rows are texts, with a label at every position."""
    if table.labels.ndim != 1:
        raise PartitionError(
            "the samples are texts, which have no class: only partition by_client and plain can deal them, "
            "and split.order must be shuffled or stored"
        )
    return table.labels
