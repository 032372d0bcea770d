"""What a partitioner sees and answers."""

from dataclasses import dataclass, field

import numpy as np

from fairfl.runtime.errors import FairflError


class PartitionError(FairflError):
    """A partition that cannot exist. The message names the numbers that clash."""


@dataclass(frozen=True)
class Table:
    """The samples that may be assigned, one entry per row of the data set (all arrays [N])."""

    labels: np.ndarray  # int64
    groups: np.ndarray  # int64; rows of one distinct image share it and must stay together
    ambiguous: np.ndarray | None = None  # bool
    client: np.ndarray | None = None  # int64; data whose clients are given
    official_test: np.ndarray | None = None  # bool; the data set's own test part
    domain: np.ndarray | None = None  # int64; where a row comes from, 0 or more

    @property
    def classes(self) -> np.ndarray:
        """Class of each row, [N]. Raises PartitionError if the rows have none: texts, numbers of a regression."""
        if self.labels.ndim != 1:
            raise PartitionError(
                "the samples are texts, which have no class: only by_client and plain can partition them, "
                "and split.order must be shuffled or stored"
            )
        if self.labels.dtype.kind == "f":
            raise PartitionError(
                "the samples have numbers to predict and no classes: only by_client and plain can partition them, "
                "and split.order must not be stored_by_class"
            )
        return self.labels

    @property
    def official_parts(self) -> list[np.ndarray]:
        """Row numbers of the data set's own training and test parts; all rows as one where it has none."""
        if self.official_test is None:
            return [np.arange(len(self.labels))]
        return [np.flatnonzero(~self.official_test), np.flatnonzero(self.official_test)]


@dataclass(frozen=True)
class Assignment:
    """Row indices of each client, and what happened on the way (retries, fallbacks) in words.

    `changed` says of that what readers of a table must know: samples and owners that are left out, draws that were
    mended. It has no number that hangs on the seed, so that all seeds say it alike.

    `clusters` are the true clusters of the clients, from 0, where there are any; `turns` are quarter turns,
    counter-clockwise, by which the images of each client are rotated, one entry for each of its `rows`.
    """

    rows: list[np.ndarray]
    remarks: list[str] = field(default_factory=list)
    clusters: list[int] | None = None
    turns: list[np.ndarray] | None = None
    changed: list[str] = field(default_factory=list)
