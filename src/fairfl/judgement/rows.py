"""Rows of comparison.csv and claims.csv, and how rows of any kind are written to CSV files and read again."""

import csv
import io
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from fairfl.experiments.origin import origin
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import number_text
from fairfl.runtime.errors import FairflError
from fairfl.values import tables

Row = TypeVar("Row")  # a dataclass whose fields are the columns of a CSV file
Verdict = Literal[
    "agrees",
    "close",
    "differs",
    "inconclusive",
    "fitted",
    "not comparable: scale",
    "not comparable: stand-in",
    "not comparable: stand-in and scale",
    "not comparable: hardware",
    "not reported",
    "not run",
    "diverged",
]


InPaper = Literal["supported", "refuted", "not testable from printed numbers"]


@dataclass(frozen=True, kw_only=True)
class ComparisonLine:
    """One row of comparison.csv; the fields are its columns. Numbers are in `unit`.

    What has a default the record leaves out (fairfl.judgement.recorded).
    """

    artifact: str
    setting: str
    algorithm: str
    hyperparameters: str
    metric: str
    unit: str
    reported: float | None
    reported_spread: float | None
    ours: float | None
    ours_std: float | None
    ours_by_seed: str  # "0:86.1;12:85.7"
    seeds: int
    reported_seeds: int
    difference: float | None
    seed_std: float | None  # None: not known
    tolerance: float | None
    tolerance_source: str = ""
    verdict: Verdict
    provenance: str = ""
    note: str = ""
    reported_note: str = ""
    contradiction: str
    data: str = ""
    changed_by_scale: str = ""
    runs: str = ""
    fingerprints: str = ""

    @cached_property
    def variant(self) -> Variant:
        return Variant.from_csv(self.algorithm, self.hyperparameters)

    @property
    def paper(self) -> str:
        """Name of the paper whose artifact it stands in."""
        return self.artifact.partition("_")[0]

    @property
    def place(self) -> tuple[str, str, str, str, str]:
        """Number that it is about, at any scale."""
        return self.artifact, self.setting, self.algorithm, self.hyperparameters, self.metric

    @property
    def fewer_seeds(self) -> bool:
        """True if our number rests on fewer seeds than the paper's."""
        return origin(self.metric) == "tidy" and 0 < self.seeds < self.reported_seeds


@dataclass(frozen=True, kw_only=True)
class ClaimLine:
    """One row of claims.csv; the fields are its columns. What has a default the record leaves out."""

    paper: str = ""
    artifact: str
    claim: str
    setting: str = ""
    text: str = ""
    expr: str = ""
    status: str
    status_at_this_scale: str = ""
    share_of_resamples: str
    lhs: str = ""
    rhs: str = ""
    reason: str = ""
    status_in_paper: InPaper
    expected_in_paper: InPaper | Literal[""] = ""
    basis: str = ""


def csv_text(rows: Iterable[Any], kind: type, columns: Collection[str] = ()) -> str:
    """Dataclass rows as CSV with '\\n' line ends, in these `columns`, all if none is named; the header always."""
    names = list(columns) or [column.name for column in fields(kind)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_text(getattr(row, name)) for name in names] for row in rows)
    return out.getvalue()


def _text(value: Any) -> Any:
    return number_text(value) if value is None or isinstance(value, float) else value


def records(path: Path, job: str, kind: type[Row], columns: Collection[str] = ()) -> list[Row]:
    """Rows of a CSV file that `csv_text` made and a job wrote. Raises FairflError if it is not there, or damaged."""
    if not path.is_file():
        raise FairflError(f"{path}: no such file; write it with `python -m fairfl.jobs.{job}`")
    types: dict[str, Any] = {column.name: column.type for column in fields(kind)}  # type: ignore[arg-type]
    read = {name: _READ.get(types[name], str) for name in columns or types}
    numbers = {name: {_number: float, int: int}.get(how, str) for name, how in read.items()}
    return [
        kind(**{name: how(row[name]) for name, how in read.items()})
        for _, row in tables.rows(path, numbers)
    ]


def _number(text: str) -> float | None:
    return float(text) if text.strip() else None


# Type of a column -> how its cells are read; all others are text.
_READ: dict[Any, Callable[[str], Any]] = {float | None: _number, int: int, bool: "True".__eq__}
