"""What counts: which published numbers, which were checked, and how many agree.

README, docs/papers/, the page, the plan and the last words of a run all count here. A *measurement* is a number
of the same runs and metric with one printed value: however many tables and figures print it, it counts once, with the
verdict that it has where it is printed first; its places are *cells*. `inconclusive` ones are counted apart: they are
in no share. Left out are other interpretations of a paper (`in_paper: false`), experiments that a scale, a stand-in or
other hardware has changed, numbers that something was fitted to, and numbers that the paper contradicts itself on.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairfl.experiments.origin import COPIED, TIMED, origin
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import key_of
from fairfl.judgement.changes import changed_keys
from fairfl.judgement.comparison import FITTED
from fairfl.judgement.rows import ClaimLine, ComparisonLine

if TYPE_CHECKING:
    from fairfl.experiments.paper import Paper

CONCLUSIVE = ("agrees", "close", "differs", "diverged")
INCONCLUSIVE = "inconclusive"
CHECKED = (
    *CONCLUSIVE,
    INCONCLUSIVE,
)  # compared with the paper's, whether or not that is informative
DIFFER = ("differs", "diverged")

Measurement = tuple[str, Variant, str, float | None]  # setting, variant, metric, the printed value


@dataclass(frozen=True)
class Count:
    """Counts of measurements by verdict."""

    verdicts: Counter[str]
    cells: int  # places in tables and figures of those that ran
    one_seed: int  # of these and the inconclusive ones, those that rest on a single seed where the paper has several
    fewer_seeds: int  # and on fewer than the paper's, those of one seed included

    @property
    def published(self) -> int:
        """Published numbers that count, run or not."""
        return self.verdicts.total()

    @property
    def conclusive(self) -> int:
        return sum(self.verdicts[verdict] for verdict in CONCLUSIVE)

    @property
    def inconclusive(self) -> int:
        return self.verdicts[INCONCLUSIVE]

    @property
    def checked(self) -> int:
        """Numbers that ran at full scale: conclusive or not."""
        return self.conclusive + self.inconclusive

    @property
    def agree(self) -> int:
        return self.verdicts["agrees"]

    @property
    def close(self) -> int:
        return self.verdicts["close"]

    @property
    def differ(self) -> int:
        """A run that diverged differs."""
        return sum(self.verdicts[verdict] for verdict in DIFFER)


def measurement(line: ComparisonLine) -> Measurement:
    """Measurement that a row of comparison.csv is about, wherever it stands."""
    return *key_of(line.setting, line.variant, line.metric), line.reported


def comparable(line: ComparisonLine) -> bool:
    """True if the number is checked, or would be once it has run."""
    if line.verdict not in ("not run", "diverged"):
        return line.verdict in CHECKED
    changes = filter(None, line.changed_by_scale.split("; "))  # the record has no such column
    replaced = "stand-in for" in line.data or changed_keys(changes)
    fitted = any(note.startswith(FITTED) for note in line.note.split("; "))
    return not (replaced or fitted) and line.metric not in (*TIMED, *COPIED)


def measurements(
    lines: Iterable[ComparisonLine], other: Collection[str] = ()
) -> dict[Measurement, list[ComparisonLine]]:
    """The cells of each measurement that counts; cells of `other` artifacts do not."""
    cells: dict[Measurement, list[ComparisonLine]] = {}
    for line in lines:
        if line.artifact not in other and comparable(line):
            cells.setdefault(measurement(line), []).append(line)
    return {
        number: places
        for number, places in cells.items()
        if not any(place.contradiction for place in places)
    }


def count(lines: Iterable[ComparisonLine], other: Collection[str] = ()) -> Count:
    """Counts over rows of comparison.csv, of this run or of the record."""
    counted = measurements(lines, other)
    ran = [places for places in counted.values() if places[0].verdict in CHECKED]
    fewer = [places[0].seeds for places in ran if places[0].fewer_seeds]
    return Count(
        verdicts=Counter(places[0].verdict for places in counted.values()),
        cells=sum(map(len, ran)),
        one_seed=fewer.count(1),
        fewer_seeds=len(fewer),
    )


def seeds_said(lines: Iterable[ComparisonLine]) -> str:
    """Remark on the seeds behind our numbers where the paper prints some, '' if they are as many as the paper's.

    'ours of 1 of the paper's 5 seeds', or '60 of our 65 numbers rest on fewer seeds than the paper's, 58 on one'.
    """
    ran = [
        line
        for line in lines
        if origin(line.metric) == "tidy" and line.seeds and line.reported is not None
    ]
    few = [line for line in ran if line.fewer_seeds]
    kinds = {(line.seeds, line.reported_seeds) for line in ran}
    if few and len(kinds) == 1:
        return "ours of {} of the paper's {} seeds".format(*kinds.pop())
    ones = sum(line.seeds == 1 for line in few)
    text = f"{len(few)} of our {len(ran)} numbers rest on fewer seeds than the paper's"
    return text + (f", {ones} on one" if ones else "") if few else ""


@dataclass(frozen=True)
class ClaimCount:
    """Counts of claims by status."""

    statuses: Counter[str]

    @property
    def checked(self) -> int:
        return sum(self.statuses[status] for status in ("supported", "inconclusive", "refuted"))


@dataclass(frozen=True)
class Totals:
    """Counts of a whole run, or of all stored results."""

    numbers: Count  # that papers print
    claims: ClaimCount  # that papers make
    own_claims: ClaimCount  # of experiments of one's own, which no paper reports


def readings_and_own(papers: Mapping[str, "Paper"]) -> tuple[set[str], set[str]]:
    """Artifacts that count in no sum of the papers: other interpretations of them, and your experiments."""
    every = [
        (paper, f"{name}_{key}", one)
        for name, paper in papers.items()
        for key, one in paper.artifacts.items()
    ]
    own = {name for paper, name, _ in every if paper.sources == "own"}
    return {name for _, name, artifact in every if not artifact.in_paper} - own, own


def totals(
    lines: Iterable[ComparisonLine], claims: Iterable[ClaimLine], papers: Mapping[str, "Paper"]
) -> Totals:
    """Counts over the rows of comparison.csv and claims.csv, of this run or of stored results."""
    claims = list(claims)
    readings, own = readings_and_own(papers)
    other = readings | own
    ours = count_claims(claim for claim in claims if claim.artifact in own)
    return Totals(count(lines, other), count_claims(claims, other), ours)


def count_claims(claims: Iterable[ClaimLine], other: Collection[str] = ()) -> ClaimCount:
    """Counts over rows of claims.csv, but for rows of `other` artifacts."""
    return ClaimCount(Counter(claim.status for claim in claims if claim.artifact not in other))
