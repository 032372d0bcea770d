"""How sure a claim is: checked again on numbers as other seeds might have given them.

Every mean over n seeds is drawn anew around its value, by t s / sqrt(n) with s and its degrees of freedom as in
fairfl.judgement.agreement, the paper's printed standard deviations and the runs' own last evaluations included, and t
from Student's distribution. A claim is supported or refuted if it is so in all but `verdict.significance_level` of the
draws; otherwise seeds decide, and it is inconclusive. Numbers without a known noise stay as they are; where one of them
rests on fewer seeds than the paper's, nobody can tell, and the claim is inconclusive, too. The draws are the same in
every run.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np

from fairfl.experiments.variant import Variant
from fairfl.judgement.agreement import Noise, noise_of, with_evaluations, with_printed
from fairfl.judgement.cells import Cell, Cells, Key, key_of
from fairfl.judgement.claims.evaluation import Judgement

Status = Literal["supported", "inconclusive", "refuted", "missing numbers"]
DRAWS = 400
NONE = Cells()


@dataclass(frozen=True)
class DrawnCells(Cells):
    """Cells with means as another draw of seeds might have given them; `find` draws each on first use."""

    pooled: Mapping[tuple[str, str], Noise] = field(default_factory=dict)
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    reported: Cells = field(default_factory=Cells)
    seeds: Mapping[str, int] = field(default_factory=dict)  # the paper's in a setting
    level: float = 0.05
    drawn: dict[Key, Cell] = field(default_factory=dict)
    unknown: set[Key] = field(default_factory=set)  # of fewer seeds than the paper's, and without a known noise

    def find(self, setting: str, variant: Variant, metric: str) -> Cell | None:
        cell = super().find(setting, variant, metric)
        key = key_of(setting, variant, metric)
        theirs = self.seeds.get(setting, 0)
        paper = self.reported.find(setting, variant, metric)
        noise = with_printed(noise_of(key, cell, self.pooled), paper, theirs, self.level)
        if cell is not None and cell.mean is not None and math.isnan(noise.std) and cell.seeds < theirs:
            self.unknown.add(key)  # also if its last evaluations move: they bound the noise from below only
        noise = with_evaluations(noise, key, Cells(self.cells, one_draw=self.one_draw), self.level)
        if cell is None or cell.mean is None or not noise.freedom:
            return cell
        if key not in self.drawn:
            error = noise.error(cell.seeds) * self.generator.standard_t(noise.freedom)
            self.drawn[key] = Cell(cell.mean + error, seeds=cell.seeds, unit=cell.unit)
        return self.drawn[key]


def share_of_resamples(
    judge: Callable[[Cells], Judgement],
    cells: Cells,
    pooled: Mapping[tuple[str, str], Noise],
    reported: Cells = NONE,
    seeds: Mapping[str, int] = MappingProxyType({}),
    level: float = 0.05,
) -> tuple[float | None, bool]:
    """Share of `DRAWS` draws of the numbers in which a claim is supported, None if none of its numbers has a known
    noise; and True if one of fewer seeds than the paper's (`seeds` of each setting) has none."""
    held, unknown = 0, False
    for draw in range(DRAWS):
        generator = np.random.default_rng(draw)
        drawn = DrawnCells(
            cells.cells, cells.skip_empty, cells.curves, cells.one_draw, pooled, generator, reported, seeds, level
        )
        held += judge(drawn).status == "supported"
        unknown |= bool(drawn.unknown)
        if not drawn.drawn:
            return None, unknown
    return held / DRAWS, unknown


def with_noise(status: Status, share: float | None, level: float, unknown: bool = False) -> Status:
    """`status` of a claim on the means, or 'inconclusive' if more than `level` of the draws contradict it, or if the
    noise of a number is `unknown`."""
    if status == "missing numbers":
        return status
    if unknown:
        return "inconclusive"
    if share is None:
        return status
    contradicted = 1 - share if status == "supported" else share
    return "inconclusive" if contradicted > level else status
