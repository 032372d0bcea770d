"""Two methods that ran with the same seeds: the differences of their numbers, seed by seed.

A seed draws the same split, clients, batches and initial model for every method, so that what it makes of one number it
makes of the other, and the difference is distinguished from zero with fewer seeds than either number could be.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95


@dataclass(frozen=True)
class Paired:
    """Mean difference over seeds in the unit of the numbers; NaN without one."""

    difference: float
    low: float  # ends of the interval of Student's t at LEVEL; NaN with one seed
    high: float
    p: float  # of a difference of zero, two-sided; NaN with one seed, or if all differences are equal
    seeds: int


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Paired:
    """Ours minus theirs over the seeds that both have; NaN if one of these diverged or is infinite.

    Seeds that diverge are not left out: what is left of a method would flatter it.
    """
    seeds = sorted(ours.keys() & theirs.keys())
    apart = np.array([ours[seed] - theirs[seed] for seed in seeds])
    if not seeds or not np.isfinite(apart).all():
        return Paired(math.nan, math.nan, math.nan, math.nan, len(seeds))
    mean = float(apart.mean())
    if len(seeds) == 1:
        return Paired(mean, math.nan, math.nan, math.nan, 1)
    if np.ptp(apart) <= 1e-12 * max(1.0, abs(mean)):  # the last bits of equal numbers
        return Paired(mean, mean, mean, math.nan, len(seeds))
    from scipy import stats  # here: it takes half a second, and plots are declared to the planner

    test = stats.ttest_1samp(apart, 0.0)
    low, high = test.confidence_interval(LEVEL)
    return Paired(mean, float(low), float(high), float(test.pvalue), len(seeds))
