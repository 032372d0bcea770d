"""What counts: which numbers can be compared, which are judged, and how many agree.

README, docs/reproduction.md, the page, the plan and the last words of a run all count here. A *measurement* is a number
of the same runs and metric with one printed value: however many tables and figures print it, it counts once; its places
are *cells*. Left out are other readings of a paper (`ours`), experiments that a scale, a stand-in or other hardware has
changed, numbers that something was fitted to, and those that the paper contradicts itself on.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import Record, key_of
from fairfl.judgement.changes import changed_keys
from fairfl.judgement.comparison import FITTED
from fairfl.metrics.origin import origin

JUDGED = ("agrees", "close", "differs", "diverged")
DIFFER = ("differs", "diverged")

Measurement = tuple[str, Variant, str, str]  # setting, variant, metric, the printed value


@dataclass(frozen=True)
class Count:
    """How the measurements of some lines came out."""

    verdicts: Counter[str]
    strict: int  # judged ones that agree or are close by the verdict `strict`, which has no wider limits
    loose: int  # that agree, though with a limit of more than half of the printed number
    cells: int  # places in tables and figures of those that are judged
    one_seed: int  # judged ones that rest on a single seed where the paper has several
    fewer_seeds: int  # and on fewer than the paper's, those of one seed included
    pairs: int = 0  # of a first seed and another (fairfl.judgement.repeats)
    pairs_within: int = 0  # of these, within the noise that the first alone is judged with

    @property
    def compared(self) -> int:
        """Those that can be compared, run or not."""
        return self.verdicts.total()

    @property
    def judged(self) -> int:
        return sum(self.verdicts[verdict] for verdict in JUDGED)

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


def measurement(line: Record) -> Measurement:
    """What a row of comparison.csv is about, wherever it stands."""
    variant = Variant.from_csv(line["algorithm"], line["hyperparameters"])
    return *key_of(line["setting"], variant, line["metric"]), line["reported"]


def comparable(line: Record) -> bool:
    """True if the number is judged, or would be once it has run."""
    if line["verdict"] != "not run":
        return line["verdict"] in JUDGED
    changes = filter(None, line.get("changed_by_scale", "").split("; "))  # the record has no such column
    replaced = "stand-in for" in line.get("data", "") or changed_keys(changes)
    fitted = any(note.startswith(FITTED) for note in line.get("note", "").split("; "))
    return not (replaced or fitted) and origin(line["metric"]) != "timed"


def loose(line: Record) -> bool:
    """True if a number agrees that nearly any would: its limit is more than half of the paper's number."""
    limit, reported = (float(line.get(key) or 0) for key in ("limit", "reported"))
    return line["verdict"] == "agrees" and 0 < abs(reported) < 2 * limit


def measurements(lines: Iterable[Record], other: Collection[str] = ()) -> dict[Measurement, list[Record]]:
    """The cells of each measurement that counts; those of `other` artifacts do not."""
    cells: dict[Measurement, list[Record]] = {}
    for line in lines:
        if line["artifact"] not in other and comparable(line):
            cells.setdefault(measurement(line), []).append(line)
    return {found: places for found, places in cells.items() if not any(place["contradiction"] for place in places)}


def count(lines: Iterable[Record], other: Collection[str] = ()) -> Count:
    """Of rows of comparison.csv, of this run or of the record."""
    found = measurements(lines, other)
    judged = [places for places in found.values() if places[0]["verdict"] in JUDGED]
    fewer = [int(places[0]["seeds"]) for places in judged if fewer_seeds(places[0])]
    return Count(
        verdicts=Counter(places[0]["verdict"] for places in found.values()),
        strict=sum(places[0].get("strict", places[0]["verdict"]) in ("agrees", "close") for places in judged),
        loose=sum(map(loose, (places[0] for places in judged))),
        cells=sum(map(len, judged)),
        one_seed=fewer.count(1),
        fewer_seeds=len(fewer),
        pairs=sum(int(places[0].get("pairs") or 0) for places in judged),
        pairs_within=sum(int(places[0].get("pairs_within") or 0) for places in judged),
    )


def seeds_said(lines: Iterable[Record]) -> str:
    """What is true of the seeds behind our numbers where the paper prints some, '' if they are as many as the paper's.

    'ours of 1 of the paper's 5 seeds', or '60 of 65 numbers of ours rest on fewer seeds than the paper's, 58 on one'.
    """
    ran = [line for line in lines if origin(line["metric"]) == "tidy" and int(line["seeds"]) and line["reported"]]
    few = [line for line in ran if fewer_seeds(line)]
    kinds = {(line["seeds"], line["reported_seeds"]) for line in ran}
    if few and len(kinds) == 1:
        return "ours of {} of the paper's {} seeds".format(*kinds.pop())
    ones = sum(line["seeds"] == "1" for line in few)
    text = f"{len(few)} of {len(ran)} numbers of ours rest on fewer seeds than the paper's"
    return text + (f", {ones} on one" if ones else "") if few else ""


def fewer_seeds(line: Record) -> bool:
    """True if a number of ours rests on fewer seeds than the paper's."""
    return origin(line["metric"]) == "tidy" and 0 < int(line["seeds"]) < int(line["reported_seeds"])


@dataclass(frozen=True)
class ClaimCount:
    """How the claims of some lines came out."""

    statuses: Counter[str]

    @property
    def judged(self) -> int:
        return sum(self.statuses[status] for status in ("holds", "within noise", "fails"))


def count_claims(claims: Iterable[Record], other: Collection[str] = ()) -> ClaimCount:
    """Of rows of claims.csv, but for those of `other` artifacts."""
    return ClaimCount(Counter(claim["here"] for claim in claims if claim["artifact"] not in other))
