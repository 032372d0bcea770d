"""How sure a claim is: judged again on numbers as other seeds might have given them.

Every mean over n seeds is drawn anew around its value, by t s / sqrt(n) with s and its degrees of freedom as in
fairfl.judgement.agreement and t from Student's distribution. A claim holds or fails if it does so
in all but `verdict.level` of the draws; otherwise seeds decide, and it is within noise. Numbers without a known noise
stay as they are. The draws are the same in every run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fairfl.experiments.variant import Variant
from fairfl.judgement.agreement import Noise, noise_of
from fairfl.judgement.cells import Cell, Cells, Key, key_of
from fairfl.judgement.claims.evaluation import Judgement

Status = Literal["holds", "within noise", "fails", "undecidable"]
DRAWS = 400


@dataclass(frozen=True)
class DrawnCells(Cells):
    """Cells with means as another draw of seeds might have given them; `find` draws each on first use."""

    pooled: Mapping[tuple[str, str], Noise] = field(default_factory=dict)
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    drawn: dict[Key, Cell] = field(default_factory=dict)

    def find(self, setting: str, variant: Variant, metric: str) -> Cell | None:
        cell = super().find(setting, variant, metric)
        key = key_of(setting, variant, metric)
        noise = noise_of(key, cell, self.pooled)
        if cell is None or cell.mean is None or not noise.freedom:
            return cell
        if key not in self.drawn:
            error = noise.error(cell.seeds) * self.generator.standard_t(noise.freedom)
            self.drawn[key] = Cell(cell.mean + error, seeds=cell.seeds, unit=cell.unit)
        return self.drawn[key]


def share_that_holds(
    judge: Callable[[Cells], Judgement], cells: Cells, pooled: Mapping[tuple[str, str], Noise]
) -> float | None:
    """Share of `DRAWS` draws of the numbers in which a claim holds; None if none of its numbers has a known noise."""
    held = 0
    for draw in range(DRAWS):
        drawn = DrawnCells(cells.cells, cells.skip_empty, cells.curves, pooled, np.random.default_rng(draw))
        held += judge(drawn).status == "holds"
        if not drawn.drawn:
            return None
    return held / DRAWS


def with_noise(status: Literal["holds", "fails", "undecidable"], share: float | None, level: float) -> Status:
    """`status` of a claim on the means, or 'within noise' if more than `level` of the draws contradict it."""
    if share is None or status == "undecidable":
        return status
    contradicted = 1 - share if status == "holds" else share
    return "within noise" if contradicted > level else status
