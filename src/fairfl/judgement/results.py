"""The reader of results: every number, ours or a paper's, that tables, figures, comparison and claims show or check."""

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from fairfl.experiments.origin import STATISTICS, configured, owner
from fairfl.experiments.paper import Paper
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Workload
from fairfl.judgement.agreement import Noise, pooled_noise
from fairfl.judgement.cells import (
    DIVERGED,
    NO_VARIANT,
    Cell,
    Cells,
    Curve,
    Key,
    Metrics,
    key_of,
    metric_of,
    printed_unit,
)
from fairfl.judgement.units import counts, factor
from fairfl.runtime.arithmetic import Arithmetic, parsed
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import nearest
from fairfl.values import result_files, tables

_TIDY: dict[str, type] = {
    **dict.fromkeys(
        ("setting", "algorithm", "hyperparameters", "metric", "unit", "run", "fingerprint"), str
    ),
    "seed": int,
    "value": float,
}
_REPORTED: dict[str, type] = {
    **dict.fromkeys(("artifact", "setting", "algorithm", "hyperparameters", "metric"), str),
    **dict.fromkeys(("spread_kind", "unit", "note"), str),
    "value": float,
    "spread": float,
}
_PARTS = ("train", "validation", "test")


@dataclass
class Results:
    """The numbers of some settings. `files`: kind of file -> setting, artifact or <setting>/<algorithm> -> path.

    `metrics_of` a setting are the metrics that its paper describes; `configured` is what settings say about themselves,
    by metric id. Names in the files of `papers` are checked against them. `one_draw`: see Cells.
    `only_described`: without the metrics that no paper describes, most of what runs measure. Everything is read on
    first use; raises OSError or FairflError, which names file, line and value.
    """

    files: Mapping[str, Mapping[str, str]]
    metrics_of: Callable[[str], Metrics]
    configured: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    papers: Mapping[str, Paper] = field(default_factory=dict)
    one_draw: frozenset[str] = frozenset()
    only_described: bool = False

    @cached_property
    def ours(self) -> Cells:
        """Everything that was measured, chosen, counted, timed or drawn."""
        cells = dict(self._measured)
        for setting, path in self._of("statistics"):
            cells |= self._single(
                setting, NO_VARIANT, partition_statistics(path), f"partitions/{setting}/{path.name}"
            )
        for place, path in self._of("tuned"):
            setting, _, algorithm = place.rpartition("/")
            cells |= self._single(
                setting, Variant(algorithm, {}), chosen_values(path), f"tuned/{place}.json"
            )
        for setting, values in self.configured.items():
            for metric, value in values.items():
                cells[setting, NO_VARIANT, metric] = Cell(
                    value, seeds=1, unit=self._unit(setting, metric)
                )
        for setting, timing in self.timings.items():
            cells |= _timed_cells(setting, timing, self.metrics_of(setting))
        for name, path in self._of("drawn"):
            cells |= {
                (name, Variant(a, {}), metric): Cell(value)
                for (a, metric), value in drawn_values(path).items()
            }
        return Cells(cells, one_draw=self.one_draw)

    @cached_property
    def _measured(self) -> dict[Key, Cell]:
        """All numbers in tidy files. Raises FairflError if one is there twice."""
        unit_of, units = cache(self._unit), dict[Key, str]()
        is_described = cache(lambda setting, name: _is_described(self.metrics_of(setting), name))
        samples: dict[Key, dict[int, tuple[float, str, str]]] = {}
        for where, row in self._tidy:
            setting, metric, seed = row["setting"], row["metric"], int(row["seed"])
            if self.only_described and not is_described(setting, metric):
                continue
            try:
                key = setting, _variant(row["algorithm"], row["hyperparameters"]), metric
                units[key] = unit = unit_of(setting, metric, row["unit"])
                value = _number(row, "value") * factor(row["unit"], unit)
                if seed in samples.setdefault(key, {}):
                    raise FairflError(f"seed {seed} of {metric} is duplicated")
            except FairflError as error:
                raise FairflError(f"{where}: {error}") from None
            samples[key][seed] = value, row["run"], row["fingerprint"]
        cells = {}
        for key, of_seed in samples.items():
            seeds = sorted(of_seed)
            values, runs, fingerprints = zip(*map(of_seed.__getitem__, seeds), strict=True)
            by_seed = dict(zip(seeds, values, strict=True))
            cells[key] = Cell.over_seeds(by_seed, units[key], runs=runs, fingerprints=fingerprints)
        return cells

    @property
    def seeds(self) -> Counter[tuple[str, Variant]]:
        """(setting, variant) -> seeds of its numbers in tidy files."""
        seeds: Counter[tuple[str, Variant]] = Counter()
        for (setting, variant, _), cell in self._measured.items():
            seeds[setting, variant] = max(cell.seeds, seeds[setting, variant])
        return seeds

    @cached_property
    def noise(self) -> dict[tuple[str, str], Noise]:
        """(setting, metric) -> what one seed makes of our numbers."""
        return pooled_noise(self.ours.cells)

    @cached_property
    def reported(self) -> dict[str, Cells]:
        """The papers' numbers by artifact name ('eagle_table8'), as far as they are written down."""
        return {name: self.read_reported(name) for name in self.files.get("reported", {})}

    @cached_property
    def timings(self) -> dict[str, result_files.Seconds]:
        """Timed runs by setting."""
        return {
            setting: result_files.read(path, result_files.Seconds)
            for setting, path in self._of("timed")
        }

    @property
    def sources(self) -> list[str]:
        """Origins of the data of our runs, as far as they say so, each once."""
        return list(dict.fromkeys(row["source"] for _, row in self._tidy if row.get("source")))

    @property
    def partitions(self) -> list[tuple[str, str]]:
        """Changes that partitions had to make, in words, with the setting; each once."""
        rows = (row for _, row in self._tidy if row.get("partition"))
        return list(dict.fromkeys((row["setting"], row["partition"]) for row in rows))

    def owners(self, setting: str) -> list[str]:
        """Name of each client's owner, where the data say it; none if they are others in other seeds."""
        different = {row.get("owners") for _, row in self._tidy if row["setting"] == setting}
        return json.loads((len(different) == 1 and different.pop()) or "[]")

    def arithmetic_of(self, places: Container[tuple[str, str, str]]) -> list[Arithmetic]:
        """Arithmetic of the runs of some variants, `places` by setting, algorithm and hyper-parameters."""
        used = {
            row["run"]: row.get("arithmetic", "")
            for _, row in self._tidy
            if (row["setting"], row["algorithm"], row["hyperparameters"]) in places
        }
        return [parsed(text) for text in used.values()]

    @cached_property
    def _tidy(self) -> list[tuple[str, dict[str, str]]]:
        """('file, line N', row) of all runs."""
        return [row for _, path in self._of("tidy") for row in tables.rows(path, _TIDY)]

    def _of(self, kind: str) -> Iterator[tuple[str, Path]]:
        return ((name, Path(path)) for name, path in self.files.get(kind, {}).items())

    def _unit(self, setting: str, metric: str, unit: str = "") -> str:
        return printed_unit(self.metrics_of(setting), metric, unit)

    def _single(
        self, setting: str, variant: Variant, values: Mapping[str, float], run: str
    ) -> dict[Key, Cell]:
        return {
            (setting, variant, metric): Cell.single(value, self._unit(setting, metric), run)
            for metric, value in values.items()
        }

    def read_reported(self, name: str) -> Cells:
        """The paper's numbers for one artifact. Raises FairflError with the line of a name that the paper lacks.

        Points along a curve (note 'round=...', metric '<metric>_curve') are no final values. An empty cell whose note
        begins with 'diverged' is a run that diverged; any other empty cell is a number that is not known.
        """
        paper, _, artifact = name.partition("_")
        cells: dict[Key, Cell] = {}
        curves: dict[Key, Curve] = {}
        for where, row in tables.rows(Path(self.files["reported"][name]), _REPORTED, remedy=None):
            try:
                if paper in self.papers:
                    _check_known(row, self.papers[paper], artifact)
                metric, setting = row["metric"].removesuffix("_curve"), row["setting"]
                key = key_of(setting, _variant(row["algorithm"], row["hyperparameters"]), metric)
                unit = self._unit(setting, metric, row["unit"])
                scale = factor(row["unit"], unit)
            except FairflError as error:
                raise FairflError(f"{where}: {error}") from None
            value, spread = (
                number * scale if counts(number := _number(row, column), row["unit"]) else None
                for column in ("value", "spread")
            )
            if at := re.match(r"round=(\d+)", row["note"]):
                if value is not None:
                    curves[key] = (*curves.get(key, ()), (int(at[1]), value))
                continue
            if key in cells:
                raise FairflError(f"{where}: {metric} of {key[1]} is duplicated")
            lost = int(value is None and row["note"].startswith(DIVERGED))
            kind = row["spread_kind"]
            cells[key] = Cell(
                value, spread, diverged=lost, unit=unit, note=row["note"], spread_kind=kind
            )
        return Cells(cells, True, curves)


def _reported(root: Path, papers: Mapping[str, Paper]) -> dict[str, str]:
    """Files of the papers' numbers by artifact name, as far as they are written down below `root`."""
    folder = root / "papers" / "reported"
    paths = {
        f"{name}_{key}": folder / name / f"{key}.csv"
        for name, paper in papers.items()
        for key in paper.artifacts
    }
    return {name: str(path) for name, path in paths.items() if path.is_file()}


def results_of(workload: Workload, root: Path, files: Mapping[str, Mapping[str, str]]) -> Results:
    """Numbers of the selected artifacts, from our `files` alone (see Results), and what papers report (below `root`).

    Not whatever lies in the folder of results: an earlier run may have left what is out of date.
    """
    settings = dict.fromkeys(setting for _, setting in workload.shown_settings())
    return Results(
        {**files, "reported": _reported(root, workload.papers)},
        workload.sharing.metrics,
        {setting: configured(workload.settings[setting].training()) for setting in settings},
        workload.papers,
        frozenset(name for name in settings if workload.settings[name].client_seed is not None),
        only_described=True,
    )


# -- tidy tables ------------------------------------------------------------------------------
_variant = cache(Variant.from_csv)


def _is_described(metrics: Metrics, name: str) -> bool:
    """True also for the noise of a described metric."""
    return name == "n_late" or metric_of(metrics, name.removesuffix("_late_std")) is not None


def _number(row: Mapping[str, str], column: str) -> float:
    """NaN for an empty cell."""
    return float(row[column].strip() or "nan")


# -- the papers' numbers ------------------------------------------------------------------------
def _check_known(row: dict[str, str], paper: Paper, artifact: str) -> None:
    """Raises FairflError with column, value and the nearest valid one."""
    if row["artifact"] != artifact:
        raise FairflError(f"artifact: {row['artifact']!r} is not {artifact!r}, the file's name")
    nameless = owner(row["metric"]) == "setting" and not row["algorithm"]
    names = {"setting": paper.settings} | ({} if nameless else {"algorithm": paper.algorithms})
    for column, valid in names.items():
        if row[column] not in valid:
            raise FairflError(f"{column}: unknown {row[column]!r}{nearest(row[column], valid)}")
    metric = row["metric"]
    if metric_of(paper.metrics, metric.removesuffix("_curve")) is None:
        raise FairflError(f"metric: unknown {metric!r}{nearest(metric, paper.metrics)}")


# -- choices, counts, seconds, drawings ---------------------------------------------------------
def chosen_values(path: Path) -> dict[str, float]:
    """learning_rate and hp_<name> by metric id, from what fairfl.jobs.tune chose; NaN if all of its grid diverged.

    Words (order=loss) are no numbers and left out. Raises OSError or FairflError naming the file.
    """
    choice = result_files.read(path, result_files.TunedChoice)
    values: dict[str, bool | int | float | str] = {"learning_rate": choice.learning_rate}
    values |= {f"hp_{name}": value for name, value in choice.hyperparameters.items()}
    numbers = {
        name: float(value) for name, value in values.items() if isinstance(value, int | float)
    }
    diverged = choice.tried and choice.value is None
    return dict.fromkeys(numbers, math.nan) if diverged else numbers


def partition_statistics(path: Path) -> dict[str, float]:
    """fairfl.experiments.origin of a partition, from its statistics file. Raises OSError or FairflError."""
    sizes = [
        (row["part"], int(row["samples"]))
        for _, row in tables.rows(path, {"part": str, "samples": int})
    ]
    by_part = {part: [size for other, size in sizes if other == part] for part in _PARTS}
    return {name: function(by_part) for name, function in STATISTICS.items()}


def describe_machine(measured: result_files.Seconds) -> str:
    """'AMD EPYC 7763, 1 thread'"""
    if measured.device != "cpu":
        return measured.processor
    return f"{measured.processor}, {measured.threads} thread{'s'[measured.threads == 1 :]}"


def _timed_cells(setting: str, measured: result_files.Seconds, metrics: Metrics) -> dict[Key, Cell]:
    """Mean and population standard deviation over the repetitions of what was timed in a setting."""
    timed = [(NO_VARIANT, measured.metrics)]
    timed += [
        (_variant(one.algorithm, one.hyperparameters), one.seconds) for one in measured.variants
    ]
    cells = {}
    for variant, metric, seconds in ((v, *item) for v, of in timed for item in of.items()):
        unit = printed_unit(metrics, metric, "seconds")
        scale = factor("seconds", unit)
        cells[setting, variant, metric] = Cell(
            mean=statistics.fmean(seconds) * scale,
            std=statistics.pstdev(seconds) * scale,
            seeds=len(seconds),
            unit=unit,
            note=f"measured on {describe_machine(measured)}",
            runs=(f"timed/{setting}.json",),
            fingerprints=(measured.fingerprint,),
        )
    return cells


def drawn_values(path: Path) -> dict[tuple[str, str], float]:
    """(algorithm, metric) -> value of the numbers that an illustration shows, from its CSV.

    An illustration draws instead of running: its algorithms are whatever it compares. Raises OSError or FairflError.
    """
    rows = tables.rows(path, {"algorithm": str, "metric": str, "value": float})
    return {
        (row["algorithm"], row["metric"]): float(row["value"]) for _, row in rows if row["metric"]
    }
