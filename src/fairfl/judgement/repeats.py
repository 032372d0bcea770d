"""Do our own runs agree with each other? A number's first seed, checked as if it were alone, against each other seed.

    |x_1 - x_j| <= t s sqrt(2)        within the noise, j = 2 ... n

s is what a number of one seed is checked with (`fairfl.judgement.agreement`): from the variants of the setting with
several seeds, but for this one, with the spread that the paper prints, and not below that of the last evaluations of
seed 1. If tolerances are right, all but `verdict.significance_level` of the pairs are within. Seeds that share one draw
of each round's clients are no repetitions: they lie nearer together than runs of another draw would.
"""

import math
from collections.abc import Mapping

from fairfl.judgement.agreement import (
    UNKNOWN,
    Noise,
    agreement_tolerance,
    with_evaluations,
    with_printed,
)
from fairfl.judgement.cells import Cell, Cells, Key


def repeats(
    key: Key,
    paper: Cell | None,
    cells: Cells,
    pooled: Mapping[tuple[str, str], Noise],
    seeds: int,
    level: float,
) -> tuple[int, int]:
    """How many pairs of our seeds there are, and how many of them are within the noise; (0, 0) where none is known.

    `cells` are ours, `pooled` the noise by setting and metric, `seeds` those behind the paper's number.
    """
    setting, variant, metric = key
    cell = cells.find(*key)
    numbers = [] if cell is None else list(cell.by_seed.items())
    finite = all(math.isfinite(value) for _, value in numbers)
    if cell is None or setting in cells.one_draw or len(numbers) < 2 or not finite:
        return 0, 0
    (first, value), *others = numbers
    names = (metric, f"{metric}_late_std", "n_late")
    found = {name: cells.find(setting, variant, name) for name in names}
    alone = {
        (setting, variant, name): Cell.over_seeds({first: one.by_seed[first]}, one.unit)
        for name, one in found.items()
        if one is not None and first in one.by_seed
    }
    noise = with_printed(without(pooled.get((setting, metric)), cell), paper, seeds, level)
    noise = with_evaluations(noise, key, Cells(alone), level)
    if not noise.freedom:
        return 0, 0
    allowed = agreement_tolerance(noise, 1, 1, 0.0, level) * (1 + 1e-9)
    return len(others), sum(abs(value - other) <= allowed for _, other in others)


def without(noise: Noise | None, cell: Cell) -> Noise:
    """Pooled noise without what the seeds of one of its cells gave it; of no degree of freedom if nothing is left."""
    if noise is None or noise.freedom <= cell.seeds - 1:
        return UNKNOWN
    freedom = noise.freedom - (cell.seeds - 1)
    squares = noise.std**2 * noise.freedom - cell.seeds * (cell.std or 0.0) ** 2
    return Noise(math.sqrt(max(squares, 0.0) / freedom), freedom, noise.variants - 1)
