"""Tables to deal out, made in memory, and specs of partitions."""

import numpy as np

from fairfl.partition.interface import Table

SPLIT = {"train": 0.6, "validation": 0.2, "test": 0.2, "order": "shuffled"}


def table(labels, groups=None, **more):
    labels = np.asarray(labels)
    return Table(labels, np.arange(len(labels)) if groups is None else np.asarray(groups), **more)


def rng(seed=0):
    return np.random.default_rng(seed)


def job(**changes):
    """The spec of a partition."""
    return {
        "data": {"name": "x", "stands_in_for": None},
        "samples": None,
        "partition": {"name": "plain"},
        "partition_seed": None,
        "clients": 4,
        "split": SPLIT,
        "seed": 0,
    } | changes
