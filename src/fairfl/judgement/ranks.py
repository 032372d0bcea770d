"""Methods against each other over several settings, by their ranks, as Demšar does (JMLR 7, 2006).

Rank 1 is the best of a setting. N settings, k methods; SciPy is imported where it is used, as it takes half a second.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairfl.judgement.paired import LEVEL

RESAMPLES = 2000


class Friedman(NamedTuple):
    """Test of all methods being alike."""

    chi2: float  # Friedman's, as Demšar writes it: without correction for ties
    f: float  # Iman and Davenport's (N - 1) chi2 / (N (k - 1) - chi2)
    p: float  # of f, with k - 1 and (k - 1)(N - 1) degrees of freedom


def ranks(values: np.ndarray, direction: str) -> np.ndarray:
    """Ranks along the last axis of [..., k]; direction 'up': the largest is 1. NaN, that is diverged, comes last.

    Ties share the middle rank; numbers that are equal in single precision are ties, for means have rounding errors.
    """
    from scipy import stats

    with np.errstate(over="ignore"):
        single = np.asarray(values, float).astype(np.float32)
    worst_is_largest = np.where(np.isnan(single), np.inf, -single if direction == "up" else single)
    return stats.rankdata(worst_is_largest, axis=-1)


def mean_ranks(scores: Sequence[np.ndarray], directions: Sequence[str]) -> np.ndarray:
    """Ranks [N, k] of the means over seeds; `scores`: of each setting [seeds, k], NaN where a seed diverged."""
    return np.array(
        [ranks(one.mean(axis=0), way) for one, way in zip(scores, directions, strict=True)]
    )


def interval(
    scores: Sequence[np.ndarray], directions: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Ends [k] of the percentile bootstrap interval at LEVEL of the average ranks; NaN if no setting has two seeds.

    Seeds of a setting are resampled, the same for all methods, as they are paired. Settings are not: the interval is
    of the ranks in these settings. A method of which a seed diverged stays last, whatever is drawn. Equal arguments
    give equal intervals.
    """
    generator = np.random.default_rng(0)
    total = np.zeros((RESAMPLES, scores[0].shape[1]))
    for one, direction in zip(scores, directions, strict=True):
        whole = np.where(np.isnan(one).any(axis=0), np.nan, one)
        chosen = generator.integers(len(one), size=(RESAMPLES, len(one)))
        total += ranks(whole[chosen].mean(axis=1), direction)
    if max(map(len, scores)) < 2:
        total[:] = math.nan
    low, high = np.quantile(total / len(scores), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


def friedman(places: np.ndarray) -> Friedman:
    """Friedman's test of ranks [N, k], N and k at least 2."""
    from scipy import stats

    settings, methods = places.shape
    squares = float((places.mean(axis=0) ** 2).sum())
    chi2 = 12 * settings / (methods * (methods + 1)) * (squares - methods * (methods + 1) ** 2 / 4)
    left = settings * (methods - 1) - chi2
    f = (settings - 1) * chi2 / left if left > 1e-9 else math.inf  # all settings have one order
    return Friedman(chi2, f, float(stats.f.sf(f, methods - 1, (methods - 1) * (settings - 1))))


def critical_difference(settings: int, methods: int, alpha: float = 0.05) -> float:
    """Nemenyi's q sqrt(k (k + 1) / 6 N): average ranks nearer than this are not distinguished.

    q is the 1 - alpha quantile of the studentized range of k with infinite degrees of freedom, over sqrt 2.
    """
    from scipy import stats

    q = float(stats.studentized_range.ppf(1 - alpha, methods, math.inf)) / math.sqrt(2)
    return q * math.sqrt(methods * (methods + 1) / (6 * settings))


def not_told_apart(average: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """(first, last) of the largest groups of two or more ascending ranks that lie within the critical difference."""
    groups: list[tuple[int, int]] = []
    for first, low in enumerate(average):
        last = max(at for at, rank in enumerate(average) if rank - low < difference)
        if last > max([first, *(end for _, end in groups)]):
            groups.append((first, last))
    return groups


def superiority(won: Sequence[np.ndarray]) -> tuple[float, float, float]:
    """The mean over settings of the share of seeds that one method wins against another, and the ends of its percentile
    bootstrap interval at LEVEL: settings are sampled again, and the seeds of each; NaN with one setting.

    `won`: of each setting [seeds], 1 where it is better, 0.5 where equal, 0 where worse. Equal arguments give equal
    ends.
    """
    share = float(np.mean([one.mean() for one in won]))
    if len(won) < 2:
        return share, math.nan, math.nan
    generator = np.random.default_rng(0)
    of_setting = np.array(
        [one[generator.integers(len(one), size=(RESAMPLES, len(one)))].mean(axis=1) for one in won]
    )
    chosen = generator.integers(len(won), size=(RESAMPLES, len(won)))
    low, high = np.quantile(
        of_setting[chosen, np.arange(RESAMPLES)[:, None]].mean(axis=1),
        [(1 - LEVEL) / 2, (1 + LEVEL) / 2],
    )
    return share, float(low), float(high)


def sign_test(won: Sequence[np.ndarray]) -> float:
    """Two-sided p of as many wins as losses over all seeds of all settings, as for `superiority`; ties do not count."""
    from scipy import stats

    every = np.concatenate(won)
    wins, losses = int((every == 1).sum()), int((every == 0).sum())
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def holm(p: Sequence[float]) -> np.ndarray:
    """p values of a family, corrected by Holm's step-down procedure; NaN stays and counts for none."""
    values = np.asarray(p, float)
    order, tests = np.argsort(values), int(np.isfinite(values).sum())
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(
        1, np.maximum.accumulate(values[order] * np.arange(tests, tests - len(values), -1))
    )
    return corrected
