"""When two numbers of a few seeds each are the same number.

    |ours - reported| <= t s sqrt(1/n + 1/n') + half a unit of the last printed digit    agrees
    |ours - reported| <= the tolerance of its unit                                       close
    otherwise                                                                            differs

A number is inconclusive, whatever the difference, where the first tolerance is above half of the printed number or, in
a column of three or more variants, above the range of what the paper prints there: such a tolerance would let nearly
any number agree. It is the tolerance alone that decides, so that a miss is not counted where a hit could not be. A
number printed as 0 has no half: only its column can speak.

n and n' are the seeds behind our mean and the paper's, s is the standard deviation of one seed: of our own runs of
the variant if it has `MIN_SEEDS` seeds, else pooled over all variants of the setting with several seeds, so that a
single seed has a verdict too. Not pooled where it need not be: FAA in FOCUS's table 1 scatters by 0.001 for one
variant and by 0.3 for another, and a pooled s would let anything agree with the first. Nor is a variant pooled whose
seeds scatter by far more than the others' (Cochran's test at `OUTLYING`, as in ISO 5725-2): noise for privacy that
ruins some models by fifteen points says nothing of the others. Its own seeds are its s. t is the quantile of Student's
distribution for `verdict.significance_level` with the degrees of freedom of s: of numbers that are equal but for their
seeds, that share does not agree. Where our seeds leave s with fewer than `MIN_SEEDS` degrees of freedom, the spread
that the paper prints beside the number counts too: a standard deviation is pooled with s; one of unknown kind is taken
for a standard deviation over the paper's seeds, and the larger of both counts. Of n seeds, d is a sum of squares of
(n - 1) d^2 if the paper divides by n - 1, of n d^2 if it divides by n ("population std").

Where our number rests on fewer than `MIN_SEEDS` seeds, or on seeds that share one draw of each round's clients
(the setting's `client_seed`) and so tell nothing of the paper's draw, t s is not below that of the run's own last
evaluations (`verdict.noise_window`, its last quarter's): a number that moves so much from one evaluation to
the next will not move less from one seed to the next. That is a bound from below, as neighbouring evaluations are
alike. Where it is all that is known of s, a number agrees or is inconclusive, for a difference beyond a bound from
below proves nothing; so it is where nothing is known of what the paper repeated with several seeds.

Where no seed makes a difference, numbers agree if they are printed alike, and none is inconclusive.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from fairfl.experiments.config import VerdictConfig
from fairfl.experiments.origin import origin
from fairfl.judgement.cells import Cell, Cells, Key
from fairfl.judgement.units import factor

MIN_SEEDS = 3
COLUMN = 3  # variants whose printed numbers have a range
OUTLYING = 0.01  # share of pools of equal variances of which the largest is left out
# Units in which differences are points of accuracy -> how many of them are one point.
_POINTS = {"percent": 1.0, "percent_points": 1.0, "fraction": 0.01}


@dataclass(frozen=True)
class Noise:
    """Scatter of a number over seeds."""

    std: float  # s, in the unit of the number
    degrees_of_freedom: int  # degrees of freedom of s
    variants: int  # it is pooled over so many
    printed: bool = False  # with the standard deviation that the paper prints
    evaluations: int = 0  # it is of so many last evaluations of one run
    is_lower_bound: bool = False  # and nothing else is known: seeds may scatter more
    is_own: bool = False  # of the number's own seeds alone

    def error(self, *seeds: int) -> float:
        """Standard error of the difference of means over these numbers of seeds, or of one mean."""
        return self.std * math.sqrt(sum(1 / n for n in seeds))

    def half_width(self, level: float) -> float:
        """t s: by how many units one seed may miss, in all but `level` of the cases; 0 where nothing is known."""
        return (
            _quantile(level, self.degrees_of_freedom) * self.std if self.degrees_of_freedom else 0.0
        )

    @property
    def is_fixed(self) -> bool:
        """True if no seed changes the number."""
        return not self.degrees_of_freedom and not math.isnan(self.std)

    @property
    def source(self) -> str:
        """Source of s, for the comparison."""
        if not self.degrees_of_freedom:
            if math.isnan(self.std):
                return "no variant of the setting has several seeds"
            return "no seed changes it"
        seeds = f"pooled over {self.variants} variant{'s'[self.variants == 1 :]}"
        if self.evaluations:
            seeds = f"its own last {self.evaluations} evaluations"
        elif self.is_own:
            seeds = "its own seeds"
        parts = [seeds] if self.variants else []
        parts += ["the printed spread"] if self.printed else []
        bound = ", a bound from below" if self.is_lower_bound else ""
        return f"{' and '.join(parts)}{bound}, {self.degrees_of_freedom} degrees of freedom"


FIXED = Noise(0.0, 0, 0)
UNKNOWN = Noise(math.nan, 0, 0)
_STANDARD_DEVIATIONS = ("std", "population std")


def pooled_noise(cells: Mapping[Key, Cell]) -> dict[tuple[str, str], Noise]:
    """(setting, metric) -> what one seed makes of it, from all variants with several finite seeds but outlying ones."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for (setting, _, metric), cell in cells.items():
        if cell.seeds > 1 and cell.std is not None and origin(metric) == "tidy":
            groups.setdefault((setting, metric), []).append(cell)
    return {place: _pooled(_alike(group)) for place, group in groups.items()}


def _alike(cells: Collection[Cell]) -> list[Cell]:
    """Cells whose variance is not outlying: at least the half with the smallest.

    As in Rosner's test many are tried before few: two outlying cells would hide each other.
    """
    ordered = sorted(cells, key=lambda cell: _pooled([cell]).std)
    sizes = range((len(ordered) + 1) // 2, len(ordered))
    outlying = (size for size in sizes if _is_outlying(ordered[size], _pooled(ordered[:size])))
    return ordered[: next(outlying, len(ordered))]


def _is_outlying(cell: Cell, others: Noise) -> bool:
    """True if a cell's seeds scatter by far more than others': Cochran's test, for any numbers of seeds."""
    from scipy import special

    own = _pooled([cell])
    if not others.degrees_of_freedom or not others.std:
        return False
    ratio = (own.std / others.std) ** 2
    share = special.fdtrc(own.degrees_of_freedom, others.degrees_of_freedom, ratio)
    return bool(share * (others.variants + 1) < OUTLYING)


def find_noise(
    key: Key,
    cells: Cells,
    pooled: Mapping[tuple[str, str], Noise],
    paper: Cell | None,
    seeds: int,
    level: float,
) -> Noise:
    """Noise of our number, among `cells`: all that our seeds, the paper's printed spread over its
    `seeds` and the runs' last evaluations tell."""
    own = noise_of(key, cells.find(*key), pooled)
    published = pool_published_spread(own, paper, seeds, level)
    return apply_evaluation_bound(published, key, cells, level)


def noise_of(key: Key, cell: Cell | None, pooled: Mapping[tuple[str, str], Noise]) -> Noise:
    """Noise of a number, of its seeds or `pooled`."""
    setting, _, metric = key
    if origin(metric) != "tidy":
        return FIXED
    noise = pooled.get((setting, metric), UNKNOWN)
    if cell is None or cell.std is None or cell.seeds < 2:
        return noise
    if cell.seeds >= MIN_SEEDS or noise.variants == 1 or _is_outlying(cell, noise):
        return replace(_pooled([cell]), is_own=True)
    return noise


def pool_published_spread(noise: Noise, paper: Cell | None, seeds: int, level: float) -> Noise:
    """`noise`, or if it hardly knows more, with the spread over `seeds` that the paper prints.

    Standard deviations are pooled; of another kind of spread, which counts as one over the seeds, the larger bound.
    """
    if paper is None or not paper.std or seeds < 2:
        return noise
    if noise.is_fixed or noise.degrees_of_freedom >= MIN_SEEDS:
        return noise
    squares = paper.std**2 * (seeds - (paper.spread_kind != "population std"))
    if paper.spread_kind not in _STANDARD_DEVIATIONS:
        alone = Noise(paper.std, seeds - 1, 0, printed=True)
        return noise if noise.half_width(level) >= alone.half_width(level) else alone
    if noise.degrees_of_freedom:
        squares += noise.std**2 * noise.degrees_of_freedom
    degrees = noise.degrees_of_freedom + seeds - 1
    return Noise(math.sqrt(squares / degrees), degrees, noise.variants, printed=True)


def apply_evaluation_bound(noise: Noise, key: Key, cells: Cells, level: float) -> Noise:
    """`noise`, or the scatter of the last evaluations of a number's own runs if it has few seeds, or one draw of
    clients for all of them, and these move it more.

    `cells` are ours: <metric>_late_std and n_late are there where runs have evaluations enough
    (fairfl.judgement.collection).
    """
    setting, variant, metric = key
    cell, late, evaluated = (
        cells.find(setting, variant, name) for name in (metric, f"{metric}_late_std", "n_late")
    )
    if cell is None or late is None or late.mean is None or evaluated is None:
        return noise
    if cell.seeds >= MIN_SEEDS and setting not in cells.one_draw:
        return noise
    evaluations = round(evaluated.mean or 0)
    # The root mean square over the seeds.
    std = math.hypot(late.mean, late.std or 0.0) * factor(late.unit, cell.unit)
    own = Noise(
        std,
        cell.seeds * (evaluations - 1),
        1,
        evaluations=evaluations,
        is_lower_bound=math.isnan(noise.std),
    )
    if noise.is_fixed or not std or noise.half_width(level) >= own.half_width(level):
        return noise
    return own


def _pooled(cells: Collection[Cell]) -> Noise:
    """`std` of a cell is divided by n; the squares add up to n std^2."""
    squares = sum(cell.seeds * (cell.std or 0.0) ** 2 for cell in cells)
    degrees = sum(cell.seeds - 1 for cell in cells)
    return Noise(math.sqrt(squares / degrees), degrees, len(cells))


def agreement_tolerance(
    noise: Noise, ours: int, theirs: int, rounding: float, level: float
) -> float:
    """The largest difference that seeds explain, in the unit of the numbers, for means over `seeds` seeds."""
    return noise.half_width(level) * math.sqrt(1 / ours + 1 / theirs) + rounding


def is_uninformative(
    tolerance: float, reported: float | None, column: Iterable[float | None]
) -> bool:
    """True if nearly any number would agree: `tolerance` is above half of the printed number, or above the column's
    range.

    `column`: what the paper prints for the variants of the number's column; fewer than three have no range.
    """
    if reported is None or not math.isfinite(reported):
        return False
    printed = [value for value in column if value is not None and math.isfinite(value)]
    scales = [abs(reported) / 2] if reported else []
    scales += [max(printed) - min(printed)] if len(printed) >= COLUMN else []
    return any(tolerance > scale * (1 + 1e-9) for scale in scales)


@cache
def _quantile(level: float, degrees: int) -> float:
    from scipy import special  # here: it takes a while, and the planner reads this file

    return float(special.stdtrit(degrees, 1 - level / 2))


def closeness_tolerance(reported: float, unit: str, config: VerdictConfig) -> float:
    """The difference that is still close: points of accuracy, or a share of the reported number."""
    if unit in _POINTS:
        return config.close_points * _POINTS[unit]
    return config.close_relative * abs(reported)
