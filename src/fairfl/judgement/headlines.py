"""A paper in one line: what its method gains on its baseline, ours and as printed."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from statistics import fmean

from fairfl.experiments.paper import Headline
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import Cell, by_seed
from fairfl.judgement.rows import ComparisonLine


@dataclass(frozen=True)
class Change:
    """From the baseline to the method, in the units of the metrics; None where a number is missing."""

    before: float | None  # the fairness metric of the baseline
    after: float | None  # and of the method
    gain: float | None  # the utility metric of the method minus that of the baseline
    seeds: int  # the fewest behind one of them
    fitted: bool = False  # something was chosen by the method's own: they prove nothing


def _over(cell: Cell, seeds: Collection[int]) -> Cell:
    """The mean over some of the seeds; as it is without any."""
    if not seeds:
        return cell
    return Cell(fmean(cell.by_seed[seed] for seed in seeds), seeds=len(seeds))


def changes(headline: Headline, lines: Iterable[ComparisonLine]) -> dict[str, Change]:
    """'ours' and 'reported' from rows of comparison.csv; of a number in several places the first that is there.

    Ours are means over the seeds that baseline and method both have, where they share any.
    """
    cells: dict[tuple[str, Variant, str], Cell] = {}
    fitted = False
    for line in lines:
        if line.setting == headline.setting:
            fitted |= line.verdict == "fitted" and line.variant == headline.method.variant
            sides = {
                "ours": Cell(line.ours, seeds=line.seeds, by_seed=by_seed(line.ours_by_seed)),
                "reported": Cell(line.reported, seeds=line.reported_seeds),
            }
            for side, number in sides.items():
                if number.mean is not None:
                    cells.setdefault((side, line.variant, line.metric), number)
    changes_by_side = {}
    for side in ("ours", "reported"):
        numbers: list[Cell] = []
        for metric in (headline.fairness, headline.utility):
            rows = (headline.baseline, headline.method)
            pair = [cells.get((side, row.variant, metric), Cell(None)) for row in rows]
            both = sorted(pair[0].by_seed.keys() & pair[1].by_seed.keys())
            numbers += [_over(number, both) for number in pair]
        before, after, base_utility, utility = (number.mean for number in numbers)
        gain = None if base_utility is None or utility is None else utility - base_utility
        few = min((number.seeds for number in numbers if number.mean is not None), default=0)
        changes_by_side[side] = Change(before, after, gain, few, side == "ours" and fitted)
    return changes_by_side
