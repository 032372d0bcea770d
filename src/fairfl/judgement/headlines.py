"""A paper in one line: what its method gains on its baseline, ours and as printed; and if it agrees with itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from fairfl.experiments.config import Verdict
from fairfl.experiments.paper import Headline, Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.agreement import UNKNOWN, limit, tolerance, with_printed
from fairfl.judgement.cells import Cell, Cells, Key, Record, digits_of
from fairfl.judgement.units import half_unit


@dataclass(frozen=True)
class Change:
    """From the baseline to the method, in the units of the metrics; None where a number is missing."""

    before: float | None  # the fairness metric of the baseline
    after: float | None  # and of the method
    gain: float | None  # the utility metric of the method minus that of the baseline
    seeds: int  # the fewest behind one of them


def changes(headline: Headline, lines: Iterable[Record]) -> dict[str, Change]:
    """'ours' and 'reported' from rows of comparison.csv; of a number in several places the first that is there."""
    found: dict[tuple[str, Variant, str], tuple[float, int]] = {}
    for line in lines:
        if line["setting"] == headline.setting:
            variant = Variant.from_csv(line["algorithm"], line["hyperparameters"])
            for side, seeds in (("ours", "seeds"), ("reported", "reported_seeds")):
                if line[side]:
                    found.setdefault((side, variant, line["metric"]), (float(line[side]), int(line[seeds])))
    made = {}
    for side in ("ours", "reported"):
        pairs = [
            found.get((side, row.variant, metric), (None, 0))
            for metric in (headline.fairness, headline.utility)
            for row in (headline.baseline, headline.method)
        ]
        (before, _), (after, _), (utility, _), (kept, _) = pairs
        gain = None if kept is None or utility is None else kept - utility
        made[side] = Change(
            before, after, gain, min((seeds for number, seeds in pairs if number is not None), default=0)
        )
    return made


@dataclass(frozen=True)
class Reprints:
    """Numbers that a paper prints more than once, pair by pair."""

    pairs: int
    differ: int  # pairs of different values
    near: int  # of those, how many agree or are close by the verdict's rule


def reprints(name: str, paper: Paper, tables: Mapping[str, Cells], config: Verdict) -> Reprints:
    """`tables` are the paper's numbers by artifact ('fedeba_table2')."""
    places: dict[Key, list[Cell]] = {}
    for key, artifact in paper.artifacts.items():
        for place, cell in tables[f"{name}_{key}"].cells.items() if f"{name}_{key}" in tables else ():
            if cell.mean is not None and not artifact.ours:
                places.setdefault(place, []).append(cell)
    digits, pairs, differ, near = digits_of(paper.metrics), 0, 0, 0
    for (setting, _, metric), cells in places.items():
        seeds = len(paper.settings[setting].seeds)
        for one, other in combinations(cells, 2):
            pairs += 1
            if one.mean is None or other.mean is None or one.mean == other.mean:
                continue
            noise = with_printed(with_printed(UNKNOWN, one, seeds), other, seeds)
            rounding = 2 * half_unit(max(abs(one.mean), abs(other.mean)), one.unit, digits(metric))
            allowed = max(limit(noise, seeds, seeds, rounding, config.level), tolerance(one.mean, one.unit, config))
            near += abs(one.mean - other.mean) <= allowed * (1 + 1e-9)
            differ += 1
    return Reprints(pairs, differ, near)
