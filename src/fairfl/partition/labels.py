"""The classes of the samples, for rules that go by them."""

import numpy as np

from fairfl.partition.interface import PartitionError, Table


def classes_of(table: Table) -> np.ndarray:
    """Class of each row, [N]. Raises PartitionError if the rows have none: texts, numbers of a regression."""
    if table.labels.ndim != 1:
        raise PartitionError(
            "the samples are texts, which have no class: only partition by_client and plain can deal them, "
            "and split.order must be shuffled or stored"
        )
    if table.labels.dtype.kind == "f":
        raise PartitionError(
            "the samples have numbers to predict and no classes: only partition by_client and plain can deal them, "
            "and split.order must not be stored_by_class"
        )
    return table.labels
