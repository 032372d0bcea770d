"""Tables to deal out, made in memory."""

import numpy as np

from fairfl.partition.interface import Table


def table(labels, groups=None, ambiguous=None, client=None):
    labels = np.asarray(labels)
    return Table(labels, np.arange(len(labels)) if groups is None else np.asarray(groups), ambiguous, client)


def rng(seed=0):
    return np.random.default_rng(seed)
