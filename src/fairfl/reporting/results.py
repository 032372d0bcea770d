"""Numbers by (setting, variant, metric): ours over seeds, and the papers' own.

`Values` is what claims and the comparison ask. Both sides are kept in the unit that the paper prints
(`metrics.<id>.unit`), so that a constant in a claim means the same on both.
"""

import csv
import io
import math
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairfl.experiments.paper import Metric, Paper
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Workload
from fairfl.metrics.configuration import configured
from fairfl.metrics.origin import owner
from fairfl.reporting import measured
from fairfl.reporting.units import counts, factor
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import nearest

Key = tuple[str, Variant, str]  # setting, variant, metric

TIDY_COLUMNS = ("setting", "algorithm", "hyperparameters", "seed", "metric", "value", "unit", "run", "fingerprint")
REPORTED_COLUMNS = (
    "artifact", "setting", "algorithm", "hyperparameters", "metric", "value", "spread", "spread_kind", "unit", "note",
)  # fmt: skip
# Kinds of artifacts whose numbers are held against the paper's; the others print text or drawings.
MEASURED_KINDS = ("table", "figure")
# How the note of a reported cell without a number begins if the paper says that its runs diverged.
DIVERGED = "diverged"
NO_VARIANT = Variant("", {})  # what numbers belong to that a setting has


# -- metrics ----------------------------------------------------------------------------------
def metric_of(metrics: Mapping[str, Metric], name: str) -> Metric | None:
    """The description of a metric; 'gap_client_3' is described by 'gap_client_k' if by nothing else."""
    return metrics.get(name) or metrics.get(re.sub(r"_\d+$", "_k", name))


def digits_of(metrics: Mapping[str, Metric]) -> Callable[[str], int]:
    """Printed digits after the point by metric id; 3 for a metric that is not described."""

    def digits(name: str) -> int:
        described = metric_of(metrics, name)
        return described.digits if described else 3

    return digits


# -- values -----------------------------------------------------------------------------------
def key_of(setting: str, variant: Variant, metric: str) -> Key:
    """Where a number is kept: a choice belongs to an algorithm, a count to a setting, the rest to a variant."""
    owners = {"setting": NO_VARIANT, "algorithm": Variant(variant.algorithm, {})}
    return setting, owners.get(owner(metric), variant), metric


@dataclass(frozen=True)
class Cell:
    """One number. For ours: mean and population standard deviation (divide by n) over seeds, or timed repetitions.

    `mean` is None if there is no number: an empty cell of the paper, or at least one seed diverged
    (a mean over the surviving seeds would flatter the algorithm). `diverged` counts those seeds; it is 1 where the
    paper says that its runs did. A mean is infinite where `censored` seeds did not reach what rounds are counted to.
    """

    mean: float | None
    std: float | None = None
    seeds: int = 0
    diverged: int = 0
    censored: int = 0
    unit: str = ""
    note: str = ""
    runs: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Values:
    """Cells by (setting, variant, metric).

    `skip_empty`: groups, argopt and trends pass over empty cells. True for the papers' numbers (a cell may
    be illegible or unprinted), False for ours (a diverged run must not vanish from a minimum).
    """

    cells: Mapping[Key, Cell] = field(default_factory=dict)
    skip_empty: bool = False

    def find(self, setting: str, variant: Variant, metric: str) -> Cell | None:
        return self.cells.get(key_of(setting, variant, metric))

    def missing(self, setting: str, variant: Variant, metric: str) -> str:
        """Say what stands in the way of a number."""
        where = f"{metric} of {variant} in {setting}" if variant.algorithm else f"{metric} in {setting}"
        cell = self.find(setting, variant, metric)
        if cell is None:
            return f"no value for {where}"
        if cell.diverged:
            return f"{where}: {cell.diverged} of {cell.seeds} seeds diverged" if cell.seeds else f"{where}: diverged"
        return f"empty cell: {where}"

    def members(self, setting: str, family: str) -> set[str]:
        """Metrics 'gap_client_0', ... that a column 'gap_client_k' stands for."""
        pattern = re.compile(re.escape(family.removesuffix("k")) + r"\d+")
        return {metric for place, _, metric in self.cells if place == setting and pattern.fullmatch(metric)}


def expanded(column: str, *sources: tuple[Values, str]) -> list[str]:
    """A column id, or the members of its family in numeric order where any source has some."""
    if not column.endswith("_k"):
        return [column]
    found = set().union(*(values.members(setting, column) for values, setting in sources))
    return sorted(found, key=lambda name: int(name.rpartition("_")[2])) or [column]


# -- files ------------------------------------------------------------------------------------
def _lines(path: Path, columns: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """('file, line N', row) for each row. Raises FairflError on a missing column or a torn row."""
    with path.open(encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle, strict=True)
        try:
            missing = [name for name in columns if name not in (reader.fieldnames or [])]
            if missing:
                raise FairflError(f"{path}: no column {missing[0]!r}{nearest(missing[0], reader.fieldnames or [])}")
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                if None in row or None in row.values():
                    raise FairflError(f"{where}: expected {len(reader.fieldnames or [])} cells")
                yield where, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise FairflError(f"{path}: not a CSV file in UTF-8: {error}") from None


def _number(row: Mapping[str, str], column: str, where: str) -> float | None:
    """None for an empty cell, NaN, or an infinity of anything but rounds."""
    text = row[column]
    try:
        value = float(text) if text.strip() else math.nan
    except ValueError:
        raise FairflError(f"{where}: {column}: {text!r} is not a number") from None
    return value if counts(value, row["unit"]) else None


def _located(where: str, call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except FairflError as error:
        raise FairflError(f"{where}: {error}") from None


def read_tidy(
    paths: Iterable[Path], unit_of: Callable[[str, str, str], str] = lambda setting, metric, unit: unit
) -> Values:
    """Mean and population standard deviation over seeds of every number in tidy/<setting>.csv files.

    `unit_of(setting, metric, unit)` is the unit to convert to from the one that was measured in. A missing file
    counts as nothing run. Raises FairflError naming file and line on a bad number, unit or a doubled seed.
    """
    samples: dict[Key, dict[str, tuple[float | None, dict[str, str]]]] = {}
    for path in paths:
        for where, row in _lines(path, TIDY_COLUMNS) if path.is_file() else ():
            variant = _located(where, Variant.from_csv, row["algorithm"], row["hyperparameters"])
            key = (row["setting"], variant, row["metric"])
            value = _number(row, "value", where)
            wanted = unit_of(row["setting"], row["metric"], row["unit"])
            if value is not None:
                value *= _located(where, factor, row["unit"], wanted)
            of_seed = samples.setdefault(key, {})
            if row["seed"] in of_seed:
                raise FairflError(f"{where}: seed {row['seed']!r} of {row['metric']} stands twice")
            of_seed[row["seed"]] = (value, {**row, "unit": wanted})
    return Values({key: _over_seeds(of_seed) for key, of_seed in samples.items()})


def _over_seeds(of_seed: dict[str, tuple[float | None, dict[str, str]]]) -> Cell:
    values = [value for value, _ in of_seed.values()]
    rows = [row for _, row in of_seed.values()]
    numbers = [value for value in values if value is not None]
    whole, censored = len(numbers) == len(values), numbers.count(math.inf)
    return Cell(
        mean=statistics.fmean(numbers) if whole else None,
        std=statistics.pstdev(numbers) if whole and not censored else None,
        seeds=len(values),
        diverged=len(values) - len(numbers),
        censored=censored,
        unit=rows[0]["unit"],
        runs=tuple(row["run"] for row in rows),
        fingerprints=tuple(row["fingerprint"] for row in rows),
    )


def read_reported(path: Path, paper: Paper, artifact: str) -> Values:
    """The paper's numbers for one artifact; nothing if it has no file.

    Points along a curve (note 'round=...') are not final values and are left out. An empty cell whose note begins
    with 'diverged' is a run that diverged; any other empty cell is a number that is not known.
    Raises FairflError with file, line and value on an unknown artifact, setting, algorithm or metric.
    """
    cells: dict[Key, Cell] = {}
    for where, row in _lines(path, REPORTED_COLUMNS) if path.is_file() else ():
        _check_known(where, row, paper, artifact)
        if row["note"].startswith("round="):
            continue
        variant = _located(where, Variant.from_csv, row["algorithm"], row["hyperparameters"])
        key = key_of(row["setting"], variant, row["metric"])
        if key in cells:
            raise FairflError(f"{where}: {row['metric']} of {key[1]} stands twice")
        described = metric_of(paper.metrics, row["metric"])
        wanted = described.shown_in(row["unit"]) if described else row["unit"]
        scale = _located(where, factor, row["unit"], wanted)
        value, spread = (_number(row, column, where) for column in ("value", "spread"))
        cells[key] = Cell(
            mean=None if value is None else value * scale,
            std=None if spread is None else spread * scale,
            diverged=int(value is None and row["note"].startswith(DIVERGED)),
            unit=wanted,
            note=row["note"],
        )
    return Values(cells, skip_empty=True)


def _check_known(where: str, row: dict[str, str], paper: Paper, artifact: str) -> None:
    if row["artifact"] != artifact:
        raise FairflError(f"{where}: artifact: {row['artifact']!r} is not {artifact!r}, the file's name")
    nameless = owner(row["metric"]) == "setting" and not row["algorithm"]
    names = {"setting": paper.settings} | ({} if nameless else {"algorithm": paper.algorithms})
    for column, known in names.items():
        if row[column] not in known:
            raise FairflError(f"{where}: {column}: unknown {row[column]!r}{nearest(row[column], known)}")
    metric = row["metric"]
    if metric_of(paper.metrics, metric.removesuffix("_curve")) is None:
        raise FairflError(f"{where}: metric: unknown {metric!r}{nearest(metric, paper.metrics)}")


def ours(workload: Workload, results: Path) -> Values:
    """Everything that was measured, chosen, counted or drawn for the selected artifacts, in the units of each paper."""
    settings = {name: None for _, _, artifact in workload.artifacts.values() for name in artifact.settings}

    def unit_of(setting: str, metric: str, unit: str = "") -> str:
        described = metric_of(workload.papers[workload.paper_of[setting]].metrics, metric)
        return described.shown_in(unit) if described else unit

    cells = dict(read_tidy((results / "tidy" / f"{name}.csv" for name in settings), unit_of).cells)
    for file, (setting, algorithm), read in _files_of_one_value(workload):
        for metric, value in read(results / file).items() if (results / file).is_file() else ():
            whole = math.isfinite(value)
            cells[setting, Variant(algorithm, {}), metric] = Cell(
                mean=value if whole else None,
                seeds=1,
                diverged=int(not whole),
                unit=unit_of(setting, metric),
                runs=(file,),
                fingerprints=("",),
            )
    for setting in settings:
        said = configured(workload.settings[setting].training())
        own = {metric: Cell(value, seeds=1, unit=unit_of(setting, metric)) for metric, value in said.items()}
        cells |= {(setting, NO_VARIANT, metric): cell for metric, cell in own.items()}
    for setting in workload.seconds:
        file = f"timed/{setting}.json"
        if (results / file).is_file():
            cells |= _timed(setting, file, measured.timed(results / file), unit_of)
    for name, (paper, key, artifact) in workload.artifacts.items():
        file = f"{paper}/{key}.csv"
        if artifact.drawing and artifact.claims and (results / file).is_file():
            drawn = measured.drawn(results / file)
            cells |= {(name, Variant(a, {}), metric): Cell(value) for (a, metric), value in drawn.items()}
    return Values(cells)


def _timed(setting: str, file: str, found: measured.Timed, unit_of: Callable[[str, str, str], str]) -> dict[Key, Cell]:
    """Mean and population standard deviation over the repetitions of what was timed in a setting."""
    cells = {}
    for (variant, metric), seconds in found.seconds.items():
        unit = unit_of(setting, metric, "seconds")
        scale = factor("seconds", unit)
        cells[setting, variant, metric] = Cell(
            mean=statistics.fmean(seconds) * scale,
            std=statistics.pstdev(seconds) * scale,
            seeds=len(seconds),
            unit=unit,
            note=f"measured on {found.machine}",
            runs=(file,),
            fingerprints=(found.fingerprint,),
        )
    return cells


def _files_of_one_value(
    workload: Workload,
) -> Iterator[tuple[str, tuple[str, str], Callable[[Path], dict[str, float]]]]:
    """(file below results, (setting, algorithm) that its numbers belong to, reader) of choices and counts."""
    for _, _, artifact in workload.artifacts.values():
        for setting in artifact.settings:
            if "statistics" in artifact.origins:
                seed = workload.settings[setting].seeds[0]
                yield f"partitions/{setting}/seed{seed}.csv", (setting, ""), measured.statistics
            if "tuned" in artifact.origins:
                for algorithm in dict.fromkeys(row.algorithm for row in artifact.rows_in(setting)):
                    yield f"tuned/{setting}/{algorithm}.json", (setting, algorithm), measured.chosen


def reported(workload: Workload, root: Path) -> dict[str, Values]:
    """The papers' numbers by artifact name ('eagle_table8')."""
    return {
        name: read_reported(root / "papers" / "reported" / paper / f"{key}.csv", workload.papers[paper], key)
        for name, (paper, key, artifact) in every_artifact(workload).items()
        if artifact.kind in MEASURED_KINDS
    }


def pooled(paper: str, name: str, tables: Mapping[str, Values]) -> Values:
    """The paper's numbers as a claim sees them: the artifact's own first, then those of the paper's others.

    A figure whose numbers are only printed in a table is judged on that table.
    """
    own = tables.get(name, Values()).cells
    cells = dict(own)
    for other, table in tables.items():
        if other.startswith(f"{paper}_"):
            cells = {**table.cells, **cells}
    return Values(cells, skip_empty=True)


def every_artifact(workload: Workload) -> dict[str, tuple[str, str, Any]]:
    """All artifacts of the loaded papers, also those that config.artifacts leaves out."""
    return {
        f"{name}_{key}": (name, key, artifact)
        for name, paper in workload.papers.items()
        for key, artifact in paper.artifacts.items()
    }


# -- CSV --------------------------------------------------------------------------------------
def number_text(value: float | None) -> str:
    """A float for CSV: nine significant digits, '' for none or NaN; the same bytes on every machine."""
    return "" if value is None or math.isnan(value) else f"{value + 0.0:.9g}"


def csv_text(rows: list, kind: type) -> str:
    """Dataclass rows as CSV with '\\n' line ends; the header is there even without rows."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(kind.__dataclass_fields__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return out.getvalue()
