"""A paper in one line: what its method gains on its baseline, ours and as printed; and if it agrees with itself."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from statistics import fmean

from fairfl.experiments.config import VerdictConfig
from fairfl.experiments.paper import Headline, Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.agreement import (
    agreement_tolerance,
    closeness_tolerance,
    printed_noise,
)
from fairfl.judgement.cells import Cell, Cells, Key, by_seed, digits_of, key_of
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import half_unit


@dataclass(frozen=True)
class Change:
    """From the baseline to the method, in the units of the metrics; None where a number is missing."""

    before: float | None  # the fairness metric of the baseline
    after: float | None  # and of the method
    gain: float | None  # the utility metric of the method minus that of the baseline
    seeds: int  # the fewest behind one of them


def _over(cell: Cell, seeds: Collection[int]) -> Cell:
    """The mean over some of the seeds; as it is without any."""
    if not seeds:
        return cell
    return Cell(fmean(cell.by_seed[seed] for seed in seeds), seeds=len(seeds))


def changes(headline: Headline, lines: Iterable[ComparisonLine]) -> dict[str, Change]:
    """'ours' and 'reported' from rows of comparison.csv; of a number in several places the first that is there.

    Ours are means over the seeds that baseline and method both have, where they share any.
    """
    found: dict[tuple[str, Variant, str], Cell] = {}
    for line in lines:
        if line.setting == headline.setting:
            sides = {
                "ours": Cell(line.ours, seeds=line.seeds, by_seed=by_seed(line.ours_by_seed)),
                "reported": Cell(line.reported, seeds=line.reported_seeds),
            }
            for side, number in sides.items():
                if number.mean is not None:
                    found.setdefault((side, line.variant, line.metric), number)
    made = {}
    for side in ("ours", "reported"):
        numbers: list[Cell] = []
        for metric in (headline.fairness, headline.utility):
            rows = (headline.baseline, headline.method)
            pair = [found.get((side, row.variant, metric), Cell(None)) for row in rows]
            both = sorted(pair[0].by_seed.keys() & pair[1].by_seed.keys())
            numbers += [_over(number, both) for number in pair]
        before, after, utility, kept = (number.mean for number in numbers)
        gain = None if kept is None or utility is None else kept - utility
        few = min((number.seeds for number in numbers if number.mean is not None), default=0)
        made[side] = Change(before, after, gain, few)
    return made


@dataclass(frozen=True)
class SelfConsistency:
    """How far a paper agrees with itself, by the rule of the verdicts, pair by pair."""

    reprints: int = 0  # pairs of numbers of the same runs, in several tables
    differ: int = 0  # of these, of different values
    near: int = 0  # and of those, how many agree or are close
    alike: int = 0  # pairs of numbers of rows that are equal in effect
    alike_near: int = 0


def self_consistency(
    name: str, paper: Paper, tables: Mapping[str, Cells], config: VerdictConfig
) -> SelfConsistency:
    """`tables` are the paper's numbers by artifact ('fedeba_table2')."""
    places: dict[Key, list[Cell]] = {}
    for key, artifact in paper.artifacts.items():
        table = tables.get(f"{name}_{key}", Cells()) if artifact.in_paper else Cells()
        for place, cell in table.cells.items():
            if cell.mean is not None:
                places.setdefault(place, []).append(cell)
    twice = [
        (setting, metric, pair)
        for (setting, _, metric), cells in places.items()
        for pair in combinations(cells, 2)
    ]
    other = [one for one in twice if one[2][0].mean != one[2][1].mean]
    alike = []
    for group in paper.equivalent_rows:
        for metric in dict.fromkeys(key[2] for key in places if key[0] == group.setting):
            keys = [key_of(group.setting, row.variant, metric) for row in group.rows]
            cells = [places[key][0] for key in keys if key in places]
            alike += [(group.setting, metric, pair) for pair in combinations(cells, 2)]
    near = partial(_near, paper, config)
    agree = [sum(near(*one) for one in pairs) for pairs in (other, alike)]
    return SelfConsistency(len(twice), len(other), agree[0], len(alike), agree[1])


def _near(
    paper: Paper,
    config: VerdictConfig,
    setting: str,
    metric: str,
    pair: tuple[Cell, Cell],
) -> bool:
    """True if two numbers of a paper agree or are close."""
    seeds, (one, other) = len(paper.settings[setting].seeds), pair
    assert one.mean is not None and other.mean is not None
    larger = max(abs(one.mean), abs(other.mean))
    rounding = 2 * half_unit(larger, one.unit, digits_of(paper.metrics)(metric))
    noise = printed_noise((one, other), seeds)
    allowed = max(
        agreement_tolerance(noise, seeds, seeds, rounding, config.significance_level),
        closeness_tolerance(larger, one.unit, config),
    )
    return abs(one.mean - other.mean) <= allowed * (1 + 1e-9)
