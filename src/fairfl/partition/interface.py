"""What a partitioner sees and answers."""

from dataclasses import dataclass, field

import numpy as np

from fairfl.errors import FairflError


class PartitionError(FairflError):
    """A partition that cannot exist. The message names the numbers that clash."""


@dataclass(frozen=True)
class Table:
    """The samples that may be dealt out, one entry per row of the data set (all arrays [N])."""

    labels: np.ndarray  # int64
    groups: np.ndarray  # int64; rows of one distinct image share it and must stay together
    ambiguous: np.ndarray | None = None  # bool
    client: np.ndarray | None = None  # int64; data whose clients are given


@dataclass(frozen=True)
class Assignment:
    """Row indices of each client, and what happened on the way (retries, fallbacks) in words."""

    rows: list[np.ndarray]
    remarks: list[str] = field(default_factory=list)
