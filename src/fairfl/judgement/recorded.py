"""What the record says at the papers' own scale, in two small files that are committed beside it.

`python -m fairfl.jobs.reproduction` writes them; docs/reproduction.md is made from them alone, and the page of another
scale shows them beside its own numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from fairfl.experiments.workload import Workload
from fairfl.judgement.cells import Record, csv_text, records
from fairfl.judgement.measurements import RAN, comparable
from fairfl.recorded import sums
from fairfl.recorded.record import FOLDER, SCALE

COMPARISON, CLAIMS = FOLDER / "comparison.csv", FOLDER / "claims.csv"


@dataclass(frozen=True)
class RecordedNumber:
    """A row of comparison.csv that can be compared: what stays equal when code changes, but no number does."""

    artifact: str
    setting: str
    algorithm: str
    hyperparameters: str
    metric: str
    unit: str
    reported: str
    reported_spread: str
    reported_seeds: str
    ours: str
    ours_std: str
    ours_by_seed: str
    seeds: str
    difference: str
    seed_std: str
    limit: str
    verdict: str
    strict: str
    pairs: str
    pairs_within: str
    contradiction: str


@dataclass(frozen=True)
class RecordedClaim:
    """A row of claims.csv."""

    artifact: str
    claim: str
    here: str
    share: str
    reported: str


Place = tuple[str, str, str, str, str]


def place(line: Record) -> Place:
    """Which number a row is about, at any scale."""
    return line["artifact"], line["setting"], line["algorithm"], line["hyperparameters"], line["metric"]


def comparison_text(lines: Iterable[Record]) -> str:
    """results/recorded/comparison.csv from the rows of comparison.csv at the papers' own scale.

    Fitted numbers are there to be seen, and count nowhere.
    """
    return _csv((line for line in lines if comparable(line) or line["verdict"] == "fitted"), RecordedNumber)


def claims_text(lines: Iterable[Record]) -> str:
    """results/recorded/claims.csv from the rows of claims.csv at the papers' own scale."""
    return _csv(lines, RecordedClaim)


def _csv(lines: Iterable[Record], kind: type) -> str:
    """Some columns of rows, paper by paper: config.yaml may name these in any order."""
    sorted_lines = sorted(lines, key=lambda line: line["artifact"].partition("_")[0])
    return csv_text([kind(**{c.name: line[c.name] for c in fields(kind)}) for line in sorted_lines], kind)


def recorded_numbers(root: Path) -> list[Record]:
    """Raises FairflError if the file is not there, or damaged."""
    return records(root / COMPARISON, "reproduction", RecordedNumber)


def recorded_claims(root: Path) -> list[Record]:
    """Raises FairflError if the file is not there, or damaged."""
    return records(root / CLAIMS, "reproduction", RecordedClaim)


def beside_record(workload: Workload, root: Path) -> Path | None:
    """What the page of this scale shows beside its own numbers; None if these are it, or if nothing is recorded.

    Raises FairflError if it is not as it was recorded.
    """
    if workload.scale.scale == SCALE:
        return None
    for path in (COMPARISON, CLAIMS):
        sums.check(root / FOLDER, path.name)
    return COMPARISON if (root / COMPARISON).is_file() else None


def claims_by_name(workload: Workload, root: Path) -> dict[tuple[str, str], Record]:
    """The claims that the record has, by artifact and id; {} where `beside_record` has no numbers either."""
    if beside_record(workload, root) is None or not (root / CLAIMS).is_file():
        return {}
    return {(line["artifact"], line["claim"]): line for line in recorded_claims(root)}


def numbers_beside(workload: Workload, root: Path) -> list[Record]:
    """What the record has of the selected artifacts and settings; [] where `beside_record` has nothing."""
    if beside_record(workload, root) is None:
        return []
    known = {(name, setting) for name, (_, _, artifact) in workload.artifacts.items() for setting in artifact.settings}
    return [line for line in recorded_numbers(root) if (line["artifact"], line["setting"]) in known]


def ran_by_place(lines: Iterable[Record]) -> dict[Place, Record]:
    """Those that were compared with the paper's, by what they are about."""
    return {place(line): line for line in lines if line["verdict"] in RAN}
