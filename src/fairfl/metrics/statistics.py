"""A partition in numbers (VRed table 2; the bound of GiFair's lambda in table 5). Cheap to import: no numpy."""

import math
from collections.abc import Callable, Mapping, Sequence

# Samples of each client, [K], by part: "train", "validation", "test".
Sizes = Mapping[str, Sequence[int]]


def lambda_bound(train: Sequence[int]) -> float:
    """min_k p_k / (K - 1), p_k = n_k / sum n: the largest lambda of GiFair that leaves every weight non-negative.

    NaN for one client.
    """
    return min(train) / sum(train) / (len(train) - 1) if len(train) > 1 else math.nan


STATISTICS: dict[str, Callable[[Sizes], float]] = {
    "num_clients": lambda sizes: len(sizes["train"]),
    "samples_train": lambda sizes: sum(sizes["train"]),
    "samples_validation": lambda sizes: sum(sizes["validation"]),
    "samples_test": lambda sizes: sum(sizes["test"]),
    "lambda_bound": lambda sizes: lambda_bound(sizes["train"]),
}
