"""When two numbers of a few seeds each are the same number.

    |ours - reported| <= t s sqrt(1/n + 1/n') + half a unit of the last printed digit    agrees
    |ours - reported| <= the tolerance of its unit                                       close
    otherwise                                                                            differs

A number is inconclusive, whatever the difference, where the first tolerance is above half of the printed number or, in
a column of three or more variants, above the range of what the paper prints there: such a tolerance would let nearly
any number agree. It is the tolerance alone that decides, so that a miss is not counted where a hit could not be. A
number printed as 0 has no half: only its column can speak.

n and n' are the seeds behind our mean and the paper's, s is the standard deviation of one seed: that of our own runs
of the variant if it has `ENOUGH` seeds, else pooled over all variants of the setting with several seeds, so that a
single seed has a verdict too. Not pooled where it need not be: FAA in FOCUS's table 1 scatters by 0.001 for one
variant and by 0.3 for another, and a pooled s would let anything agree with the first. t is the quantile of Student's
distribution for `verdict.significance_level` with the degrees of freedom of s: of numbers that are equal but for their
seeds, that share does not agree. Where our seeds leave s with fewer than `ENOUGH` degrees of freedom, the spread that
the paper prints beside the number counts too: a standard deviation is pooled with s; one of unknown kind is taken for a
standard deviation over the paper's seeds, and the larger of both counts. Of n seeds, d is a sum of squares of (n - 1)
d^2 if the paper divides by n - 1, of n d^2 if it divides by n ("population std").

Where a number of ours rests on fewer than `ENOUGH` seeds, or on seeds that share one draw of each round's clients (the
setting's `client_seed`) and so tell nothing of the paper's draw, t s is not below that of the run's own last
evaluations (`verdict.noise_window`, those of its last quarter): a number that moves so much from one evaluation to
the next will not move less from one seed to the next. That is a bound from below, as neighbouring evaluations are
alike. Where it is all that is known of s, a number agrees or is inconclusive, for a difference beyond a bound from
below proves nothing; so it is where nothing is known of what the paper repeated with several seeds.

Where no seed makes a difference, numbers agree if they are printed alike, and none is inconclusive.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from fairfl.experiments.config import VerdictConfig
from fairfl.judgement.cells import Cell, Cells, Key
from fairfl.judgement.units import factor
from fairfl.metrics.origin import origin

ENOUGH = 3
COLUMN = 3  # variants whose printed numbers have a range
# Units in which differences are points of accuracy -> how many of them are one point.
_POINTS = {"percent": 1.0, "percent_points": 1.0, "fraction": 0.01}


@dataclass(frozen=True)
class Noise:
    """What one seed makes of a number."""

    std: float  # s, in the unit of the number
    freedom: int  # degrees of freedom of s
    variants: int  # it is pooled over so many
    printed: bool = False  # with the standard deviation that the paper prints
    evaluations: int = 0  # it is of so many last evaluations of one run
    from_below: bool = False  # and nothing else is known: seeds may scatter more

    def error(self, *seeds: int) -> float:
        """Standard error of the difference of means over so many seeds each, or of one mean."""
        return self.std * math.sqrt(sum(1 / n for n in seeds))

    def half_width(self, level: float) -> float:
        """t s: by how many units one seed may miss, in all but `level` of the cases; 0 where nothing is known."""
        return _quantile(level, self.freedom) * self.std if self.freedom else 0.0

    @property
    def fixed(self) -> bool:
        """True if no seed changes the number."""
        return not self.freedom and not math.isnan(self.std)

    @property
    def source(self) -> str:
        """Source of s, for the comparison."""
        if self.evaluations:
            bound = ", a bound from below" if self.from_below else ""
            return f"its own last {self.evaluations} evaluations{bound}, {self.freedom} degrees of freedom"
        parts = ["the printed spread"] if self.printed else []
        if self.freedom and self.variants:
            alone = self.variants == 1 and not self.printed
            parts.insert(
                0,
                "its own seeds"
                if alone
                else f"pooled over {self.variants} variant{'s'[self.variants == 1 :]}",
            )
        if parts:
            return f"{' and '.join(parts)}, {self.freedom} degrees of freedom"
        return (
            "no variant of the setting has several seeds"
            if math.isnan(self.std)
            else "no seed changes it"
        )


FIXED = Noise(0.0, 0, 0)
UNKNOWN = Noise(math.nan, 0, 0)
_STANDARD_DEVIATIONS = ("std", "population std")


def pooled_noise(cells: Mapping[Key, Cell]) -> dict[tuple[str, str], Noise]:
    """(setting, metric) -> what one seed makes of it, from all variants with several finite seeds."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for (setting, _, metric), cell in cells.items():
        if cell.seeds > 1 and cell.std is not None and origin(metric) == "tidy":
            groups.setdefault((setting, metric), []).append(cell)
    return {place: _pooled(group) for place, group in groups.items()}


def noise_of(key: Key, cell: Cell | None, pooled: Mapping[tuple[str, str], Noise]) -> Noise:
    """What one seed makes of a number: as its own seeds say, or `pooled`."""
    setting, _, metric = key
    if origin(metric) != "tidy":
        return FIXED
    if cell is not None and cell.seeds >= ENOUGH and cell.std is not None:
        return _pooled([cell])
    return pooled.get((setting, metric), UNKNOWN)


def with_printed(noise: Noise, paper: Cell | None, seeds: int, level: float) -> Noise:
    """`noise`, or if it hardly knows more, with the spread over `seeds` that the paper prints.

    Standard deviations are pooled; of another kind of spread the larger bound counts.
    """
    known = UNKNOWN if paper is None else printed_noise([paper], seeds)
    if noise.fixed or noise.freedom >= ENOUGH or not known.freedom:
        return noise
    if paper is not None and paper.spread_kind not in _STANDARD_DEVIATIONS:
        return noise if noise.half_width(level) >= known.half_width(level) else known
    squares = known.std**2 * known.freedom + (
        noise.std**2 * noise.freedom if noise.freedom else 0.0
    )
    freedom = noise.freedom + known.freedom
    return Noise(math.sqrt(squares / freedom), freedom, noise.variants, printed=True)


def printed_noise(cells: Iterable[Cell], seeds: int) -> Noise:
    """What one seed makes of numbers of the paper, pooled over the spreads that it prints beside them.

    A spread of unknown kind counts as a standard deviation over the seeds.
    """
    squares = [
        cell.std**2 * (seeds - (cell.spread_kind != "population std")) for cell in cells if cell.std
    ]
    if seeds < 2 or not squares:
        return UNKNOWN
    freedom = len(squares) * (seeds - 1)
    return Noise(math.sqrt(sum(squares) / freedom), freedom, 0, printed=True)


def with_evaluations(noise: Noise, key: Key, cells: Cells, level: float) -> Noise:
    """`noise`, or that of the last evaluations of a number's own runs if it has few seeds, or one draw of clients for
    all of them, and these move it more.

    `cells` are ours: <metric>_late_std and n_late are there where runs have evaluations enough
    (fairfl.judgement.collection).
    """
    setting, variant, metric = key
    cell = cells.find(*key)
    late, evaluated = (
        cells.find(setting, variant, name) for name in (f"{metric}_late_std", "n_late")
    )
    if cell is None or late is None or late.mean is None or evaluated is None:
        return noise
    if cell.seeds >= ENOUGH and setting not in cells.one_draw:
        return noise
    evaluations = round(evaluated.mean or 0)
    std = math.hypot(late.mean, late.std or 0.0) * factor(
        late.unit, cell.unit
    )  # root mean square over the seeds
    alone = math.isnan(noise.std)
    own = Noise(std, cell.seeds * (evaluations - 1), 1, evaluations=evaluations, from_below=alone)
    return (
        noise if noise.fixed or not std or noise.half_width(level) >= own.half_width(level) else own
    )


def _pooled(cells: Iterable[Cell]) -> Noise:
    """`std` of a cell is divided by n; the squares add up to n std^2."""
    squares, freedom, variants = 0.0, 0, 0
    for cell in cells:
        squares += cell.seeds * (cell.std or 0.0) ** 2
        freedom += cell.seeds - 1
        variants += 1
    return Noise(math.sqrt(squares / freedom), freedom, variants)


def agreement_tolerance(
    noise: Noise, ours: int, theirs: int, rounding: float, level: float
) -> float:
    """The largest difference that is no surprise, in the unit of the numbers, for means over so many seeds."""
    return noise.half_width(level) * math.sqrt(1 / ours + 1 / theirs) + rounding


def too_wide(tolerance: float, reported: float | None, column: Iterable[float | None]) -> bool:
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
def _quantile(level: float, freedom: int) -> float:
    from scipy import special  # here: it takes a while, and the planner reads this file

    return float(special.stdtrit(freedom, 1 - level / 2))


def closeness_tolerance(reported: float, unit: str, config: VerdictConfig) -> float:
    """The difference that is still close: points of accuracy, or a share of the reported number."""
    if unit in _POINTS:
        return config.close_points * _POINTS[unit]
    return config.close_relative * abs(reported)
