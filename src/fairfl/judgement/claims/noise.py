"""How sure a claim is: checked again on numbers as other seeds might have given them.

Every mean over n seeds is sampled again around its value, by t s / sqrt(n) with s and its degrees of freedom as in
fairfl.judgement.agreement, the paper's printed standard deviations and the runs' own last evaluations included, and t
from Student's distribution. A claim is supported or refuted if it is so in all but `verdict.significance_level` of the
draws; otherwise seeds decide, and it is inconclusive. Numbers without a known noise stay as they are; where one of them
rests on fewer seeds than the paper's, that is unknown, and the claim is inconclusive, too. The draws are the same in
every run.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np

from fairfl.experiments.variant import Variant
from fairfl.judgement.agreement import Noise, find_noise
from fairfl.judgement.cells import Cell, Cells, Key, key_of
from fairfl.judgement.claims.evaluation import Judgement

Status = Literal["supported", "inconclusive", "refuted", "missing numbers"]
DRAWS = 400
NONE = Cells()


@dataclass(frozen=True)
class _Asked(Cells):
    """Cells that note which of them a claim asks for, in its order, as in every draw."""

    asked: dict[Key, Cell] = field(default_factory=dict)

    def find(self, setting: str, variant: Variant, metric: str) -> Cell | None:
        cell = super().find(setting, variant, metric)
        if cell is not None:
            self.asked.setdefault(key_of(setting, variant, metric), cell)
        return cell


@cache
def _students(*degrees: int) -> list[list[float]]:
    """t of each of these degrees of freedom, [DRAWS, n]."""
    generators = map(np.random.default_rng, range(DRAWS))
    return [[generator.standard_t(each) for each in degrees] for generator in generators]


def share_of_resamples(
    judge: Callable[[Cells], Judgement],
    cells: Cells,
    pooled: Mapping[tuple[str, str], Noise],
    reported: Cells,
    seeds: Mapping[str, int],
    level: float,
) -> tuple[float | None, bool]:
    """Share of `DRAWS` draws of the numbers in which a claim is supported, None if none of its numbers has a known
    noise; and True if one of fewer seeds than the paper's (`seeds` of each setting) has none."""
    watched = _Asked(cells.cells, cells.skip_empty, one_draw=cells.one_draw)
    judge(watched)
    means: dict[Key, float] = {}
    errors: dict[Key, tuple[float, int]] = {}  # standard error of the mean, degrees of freedom
    unknown = False
    for key, cell in watched.asked.items():
        if cell.mean is None:
            continue
        theirs = seeds.get(key[0], 0)
        noise = find_noise(key, cells, pooled, reported.find(*key), theirs, level)
        # Last evaluations alone bound the noise from below only.
        unknown |= cell.seeds < theirs and (noise.is_lower_bound or math.isnan(noise.std))
        if noise.degrees_of_freedom:
            means[key], errors[key] = cell.mean, (noise.error(cell.seeds), noise.degrees_of_freedom)
    if not means:
        return None, unknown
    supported = 0
    for draw in _students(*(degrees for _, degrees in errors.values())):
        resampled = {
            key: Cell(means[key] + error * t)
            for (key, (error, _)), t in zip(errors.items(), draw, strict=True)
        }
        supported += judge(Cells(watched.asked | resampled)).status == "supported"
    return supported / DRAWS, unknown


def with_noise(status: Status, share: float | None, level: float, unknown: bool) -> Status:
    """`status` of a claim on the means, or 'inconclusive' if more than `level` of the draws contradict it, or if the
    noise of a number is `unknown`."""
    if status == "missing numbers" or (share is None and not unknown):
        return status
    contradicted = 1 - (share or 0.0) if status == "supported" else share or 0.0
    return "inconclusive" if unknown or contradicted > level else status
