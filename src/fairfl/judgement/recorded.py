"""What the record says at full scale, in small files next to it.

`python -m fairfl.jobs.reproduction` writes them; docs/papers/ is made from them alone, and the page of another
scale shows them beside its own numbers.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from fairfl.experiments.workload import Workload
from fairfl.judgement.measurements import CHECKED, comparable
from fairfl.judgement.rows import ClaimLine, ComparisonLine, csv_text, records
from fairfl.recorded import FOLDER, sums
from fairfl.recorded.record import SCALE

Line = TypeVar("Line", ComparisonLine, ClaimLine)
COMPARISON, CLAIMS = FOLDER / "comparison.csv", FOLDER / "claims.csv"
DIFFERENCES = FOLDER / "differences.csv"


# Columns of comparison.csv and claims.csv that stay equal when code changes, but no number does.
NUMBERS = (
    "artifact", "setting", "algorithm", "hyperparameters", "metric", "unit", "reported", "reported_spread",
    "reported_seeds", "ours", "ours_std", "ours_by_seed", "seeds", "difference", "seed_std", "tolerance", "verdict",
    "tolerance_source", "contradiction", "runs",
)  # fmt: skip
CLAIM_COLUMNS = ("artifact", "claim", "status", "share_of_resamples", "status_in_paper")

Place = tuple[str, str, str, str, str]


def comparison_text(lines: Iterable[ComparisonLine]) -> str:
    """results/recorded/comparison.csv from the rows of comparison.csv at full scale.

    Fitted numbers are there to be seen, and count nowhere.
    """
    listed = (line for line in lines if comparable(line) or line.verdict == "fitted")
    return csv_text(_by_paper(listed), ComparisonLine, NUMBERS)


def claims_text(lines: Iterable[ClaimLine]) -> str:
    """results/recorded/claims.csv from the rows of claims.csv at full scale."""
    return csv_text(_by_paper(lines), ClaimLine, CLAIM_COLUMNS)


def _by_paper(lines: Iterable[Line]) -> list[Line]:
    """Paper by paper: config.yaml may name these in any order."""
    return sorted(lines, key=lambda line: line.paper)


def recorded_numbers(root: Path) -> list[ComparisonLine]:
    """Raises FairflError if the file is not there, or damaged."""
    return records(root / COMPARISON, "reproduction", ComparisonLine, NUMBERS)


def recorded_claims(root: Path) -> list[ClaimLine]:
    """Raises FairflError if the file is not there, or damaged."""
    return records(root / CLAIMS, "reproduction", ClaimLine, CLAIM_COLUMNS)


def stored_comparison(workload: Workload, root: Path) -> Path | None:
    """File that the page of this scale shows beside its own numbers; None if these are it, or if nothing is recorded.

    Raises FairflError if it is not as it was recorded.
    """
    if workload.scale.scale == SCALE:
        return None
    for path in (COMPARISON, CLAIMS):
        sums.check(root / FOLDER, path.name)
    return COMPARISON if _shows_stored(workload, root) else None


def _shows_stored(workload: Workload, root: Path) -> bool:
    """In a job, which reads the copy that planning has checked: the list of checksums is not in it."""
    return workload.scale.scale != SCALE and (root / COMPARISON).is_file()


def claims_by_name(workload: Workload, root: Path) -> dict[tuple[str, str], ClaimLine]:
    """The claims that the record has, by artifact and id; {} where no stored numbers are shown."""
    if not _shows_stored(workload, root) or not (root / CLAIMS).is_file():
        return {}
    return {(line.artifact, line.claim): line for line in recorded_claims(root)}


def stored_numbers(workload: Workload, root: Path) -> list[ComparisonLine]:
    """Stored rows of the selected artifacts and settings; [] where none are shown."""
    if not _shows_stored(workload, root):
        return []
    selected = {
        (name, setting)
        for name, (_, _, artifact) in workload.artifacts.items()
        for setting in artifact.settings
    }
    return [line for line in recorded_numbers(root) if (line.artifact, line.setting) in selected]


def ran_by_place(lines: Iterable[ComparisonLine]) -> dict[Place, ComparisonLine]:
    """Lines that were compared with the paper's, by what they are about."""
    return {line.place: line for line in lines if line.verdict in CHECKED}
