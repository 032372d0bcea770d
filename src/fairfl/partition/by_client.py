"""Data whose owners are given (users, writers): a client is one owner, with all its samples in stored order.

Owners are in the order of the whole data, whatever samples a seed draws.

VRed, StackOverflow: 20 users of more than 10,000 and fewer than 12,500 sentences (the data set leaves only such users).
"""

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from fairfl.experiments.base import Strict
from fairfl.partition.interface import Assignment, PartitionError, Table


class Config(Strict):
    choose: Literal["first", "random"] = Field(
        "first",
        description="which owners: the first in stored order, or a draw that keeps this order",
    )
    min_samples: int = Field(1, ge=1, description="fewest samples of an owner that may be chosen")
    max_samples: int | None = Field(
        None, ge=1, description="most samples of an owner that may be chosen; null: any"
    )

    @model_validator(mode="after")
    def _range(self) -> "Config":
        if self.max_samples is not None and self.max_samples < self.min_samples:
            raise ValueError(
                f"max_samples {self.max_samples} is less than min_samples {self.min_samples}"
            )
        return self


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    """Raises PartitionError if the data have no owners or too few of the size that is asked for."""
    if table.client is None:
        raise PartitionError("by_client needs data whose rows have owners (a `client` tensor)")
    owners, counts = np.unique(table.client, return_counts=True)
    most = counts.max() if config.max_samples is None else config.max_samples
    fit = np.flatnonzero((counts >= config.min_samples) & (counts <= most))
    if len(fit) < clients:
        size = (
            f"{config.min_samples} or more"
            if config.max_samples is None
            else f"{config.min_samples} to {most}"
        )
        raise PartitionError(
            f"{len(fit)} of {len(owners)} owners have {size} samples, the setting asks for {clients}"
        )
    chosen = (
        fit[:clients]
        if config.choose == "first"
        else fit[np.sort(rng.permutation(len(fit))[:clients])]
    )
    rows = np.split(np.argsort(table.client, kind="stable"), np.cumsum(counts)[:-1])
    how = "a draw" if config.choose == "random" else "the first"
    size = (
        ""
        if len(fit) == len(owners)
        else f" of {len(fit)} with {config.min_samples:,} to {most:,} samples"
    )
    left = (
        [f"{clients:,} of {len(owners):,} owners take part, {how}{size}"]
        if clients < len(owners)
        else []
    )
    return Assignment(
        [rows[k] for k in chosen],
        [f"{clients} of {len(fit)} owners: {config.choose}"],
        changed=left,
    )
