"""Is the order of the variants the paper's? Kendall's tau of our numbers and the reported ones, by artifact and column.

    tau = (P - Q) / sqrt((P + Q + our ties) (P + Q + their ties)),   P, Q pairs in the same, the opposite order

1 is the same order, -1 the opposite one, 0 none. `low` and `high` hold 95 % of the values that other seeds might give:
both means are sampled around their values, the paper's with the standard deviation of our seeds. Such draws have the
noise twice, in the means and on top of them, which takes them nearer to 0 than tau; the range reaches to tau anyway.
`p` is the probability of such a tau, or one farther from 0, if the orders had nothing to do with each other.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import known_or_none

DRAWS = 400
LEAST = 3  # variants, for an order


@dataclass(frozen=True)
class RankingLine:
    """One row of ranking.csv; the fields are its columns."""

    artifact: str
    setting: str
    metric: str
    variants: int
    tau: float | None
    low: float | None
    high: float | None
    p: float | None
    checked: bool  # False: scale or stand-in changed the experiment, and tau is a hint


def ranking_lines(lines: Iterable[ComparisonLine]) -> list[RankingLine]:
    """From the rows of comparison.csv: one for each column in a setting where enough variants have both numbers."""
    columns: dict[tuple[str, str, str], list[ComparisonLine]] = {}
    for line in lines:
        numbers = line.ours, line.reported
        if line.algorithm and all(
            number is not None and math.isfinite(number) for number in numbers
        ):
            columns.setdefault((line.artifact, line.setting, line.metric), []).append(line)
    return [_ranking(*place, group) for place, group in columns.items() if len(group) >= LEAST]


def _ranking(artifact: str, setting: str, metric: str, lines: list[ComparisonLine]) -> RankingLine:
    ours, reported = (
        np.array([getattr(line, name) for line in lines]) for name in ("ours", "reported")
    )
    tau, p = stats.kendalltau(ours, reported)
    low = high = tau
    std = np.array([line.seed_std or 0.0 for line in lines])
    if std.any():
        generator = np.random.default_rng(0)
        resampled = []
        for means, name in ((ours, "seeds"), (reported, "reported_seeds")):
            errors = std / np.sqrt([max(getattr(line, name), 1) for line in lines])
            resampled.append(means + errors * generator.standard_normal((DRAWS, len(lines))))
        low, high = np.quantile(taus(*resampled), [0.025, 0.975])
        low, high = min(low, tau), max(high, tau)
    checked = not any(line.verdict.startswith("not comparable") for line in lines)
    numbers = known_or_none(tau), known_or_none(low), known_or_none(high), known_or_none(p)
    return RankingLine(artifact, setting, metric, len(lines), *numbers, checked)


def taus(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Kendall's tau of rows without ties, [D, n] and [D, n] -> [D]."""
    one, other = (np.sign(values[:, :, None] - values[:, None, :]) for values in (left, right))
    n = left.shape[1]
    return (one * other).sum((1, 2)) / (n * (n - 1))
