"""What tables and figures are made from: the artifact's spec and the result files that it lists."""

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairfl.data import prepared
from fairfl.experiments.variant import Variant
from fairfl.metrics.origin import owner
from fairfl.partition.partition_file import read
from fairfl.reporting import measured
from fairfl.reporting.changes import changed_keys
from fairfl.reporting.units import factor
from fairfl.runtime import shape, tables
from fairfl.runtime.errors import FairflError
from fairfl.runtime.shape import COUNT
from fairfl.runtime.validation import nearest

TRAIN, VALIDATION, TEST = 0, 1, 2  # column `part` of a partition

_TIDY = ("setting", "algorithm", "hyperparameters", "seed", "metric", "value", "unit", "data", "run")
_ROUNDS = ("setting", "algorithm", "hyperparameters", "seed", "round", "client")
_REPORTED = ("artifact", "setting", "algorithm", "hyperparameters", "metric", "value", "spread", "unit", "note")
_SPEC = {
    "paper": str,
    "id": str,
    "artifact": {
        "kind": frozenset({"table", "figure", "illustration", "static_table"}),
        "title": str,
        "settings": [str],
        "rows": [
            {"algorithm": str, "hyperparameters": dict, "setting": (str, None), "title": (str, None), "provenance": str}
        ],
        "columns": [str],
        "plot": (str, None),
        "options": dict,
        "layout": str,
        "columns_of": {"*": [str]},
        "columns_in": {"*": [str]},
        "rules": [int],
        "header": [str],
        "content": ([[str]], str),
    },
    "metrics": {"*": {"unit": str}},
    "algorithms": {"*": str},
    "settings": {"*": {"data": str, "rounds": COUNT, "seeds": COUNT, "changed": [str]}},
    "files": {"*": {"*": str}},
}
_FILES = {
    "tidy": ("tidy",),
    "rounds": ("rounds",),
    "data": ("data", "partition"),
    "partition": ("partition",),
    "statistics": ("statistics",),
    "model": ("model",),
    "reported": ("reported",),
}


class NothingRun(FairflError):
    """None of an artifact's rows has results, because the configuration asks for other algorithms."""


@dataclass(frozen=True)
class Row:
    """One row of a table, one box or curve of a figure: a variant of an algorithm."""

    variant: Variant
    title: str
    setting: str | None = None  # the only one that has it; None: all
    printed: str | None = None  # what the paper prints in place of title and values

    @property
    def algorithm(self) -> str:
        return self.variant.algorithm

    @property
    def hyperparameters(self) -> str:
        """As in CSV files: 'lambda=1.0', '' if none."""
        return self.variant.csv

    @property
    def label(self) -> str:
        """As the papers print it: 'EAGLE λ = 0.1'."""
        return self.variant.label(self.title) if self.printed is None else self.printed

    def of(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The lines of a tidy or rounds frame that belong to this row."""
        own = (frame["algorithm"] == self.algorithm) & frame["hyperparameters"].isin(self._spellings(frame))
        return frame[own if self.setting is None else own & (frame["setting"] == self.setting)]

    def _spellings(self, frame: pd.DataFrame) -> list[str]:
        """The texts that stand for the row's hyper-parameters in a frame: 'q=1' and 'q=1.0' are equal."""
        texts = frame["hyperparameters"].unique()
        return [text for text in texts if Variant.from_csv(self.algorithm, text) == self.variant]


@dataclass(frozen=True)
class Samples:
    """A setting's samples: features [samples, ...], class labels, owner and part of each."""

    features: np.ndarray
    labels: np.ndarray
    client: np.ndarray
    part: np.ndarray

    def only(self, chosen: np.ndarray) -> "Samples":
        return Samples(self.features[chosen], self.labels[chosen], self.client[chosen], self.part[chosen])


@dataclass
class Inputs:
    """Lazy access to the files of one artifact. `remarks` end up in its note or footer."""

    spec: dict[str, Any]
    remarks: list[str] = field(default_factory=list)

    @property
    def settings(self) -> list[str]:
        return list(self.spec["artifact"]["settings"])

    @cached_property
    def rows(self) -> list[Row]:
        titles = self.spec["algorithms"]
        return [
            Row(
                Variant(row["algorithm"], row["hyperparameters"]),
                titles[row["algorithm"]],
                row["setting"],
                row["title"],
            )
            for row in self.spec["artifact"]["rows"]
        ]

    def rows_in(self, setting: str) -> list[Row]:
        """The rows that one of the settings has."""
        return [row for row in self.rows if row.setting in (None, setting)]

    @cached_property
    def tidy(self) -> pd.DataFrame:
        """All tidy files, values in the units that the paper prints."""
        frames = [_csv(Path(path), _TIDY, ("value",)) for path in self._files("tidy").values()]
        frame = pd.concat(frames, ignore_index=True)
        for source in frame.get("source", pd.Series(dtype=str)).dropna().unique():
            self.say(f"Source: {source}.")  # a lossy copy must not pass for the original
        return in_units(frame, self.units)

    @property
    def units(self) -> dict[str, tuple[str, ...]]:
        """metric -> unit that the paper prints, and those that it prints in other settings."""
        return {name: (metric["unit"], *metric.get("other_units", ())) for name, metric in self.spec["metrics"].items()}

    @cached_property
    def reported(self) -> pd.DataFrame:
        """The paper's own numbers, those of this artifact first, in its units; `variant` tells rows apart.

        Empty cells are left out. Curves have metric <metric>_curve and a column `round`.
        """
        files = self._files("reported")
        own_first = sorted(files, key=lambda name: (name != self.spec["id"], name))
        frames = [_csv(Path(files[name]), _REPORTED, ("value", "spread")) for name in own_first]
        frame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(_REPORTED))
        frame = frame[frame["value"].notna()]
        rounds = frame["note"].astype(str).str.extract(r"^round=(\d+)")[0].astype("Int64")
        variants = [Variant.from_csv(*pair) for pair in zip(frame["algorithm"], frame["hyperparameters"], strict=True)]
        units = self.units | {f"{name}_curve": unit for name, unit in self.units.items()}
        return in_units(frame.assign(round=rounds, variant=pd.Series(variants, frame.index, dtype=object)), units)

    def reported_for(self, setting: str, row: Row, metric: str) -> pd.DataFrame:
        """The paper's number (at most one line) or, for <metric>_curve, its points for one row."""
        frame, kind = self.reported, owner(metric)
        mine = (frame["setting"] == setting) & (frame["metric"] == metric)
        if kind != "setting":
            mine &= frame["algorithm"] == row.algorithm
        if kind == "variant":
            mine &= frame["variant"].map(lambda variant: variant == row.variant).astype(bool)
        own = frame[mine]
        return own[own["artifact"] == own["artifact"].iloc[0]] if len(own) else own

    def chosen(self, setting: str, algorithm: str) -> dict[str, float]:
        """What tuning chose, by metric id; {} if the algorithm was not tuned in the setting."""
        path = self._files("tuned").get(f"{setting}/{algorithm}")
        return measured.chosen(Path(path)) if path else {}

    def counted(self, setting: str) -> dict[str, float]:
        """Clients and samples of a setting's partition (first seed), by metric id."""
        return measured.statistics(Path(self._file("statistics", setting)))

    def label_counts(self, setting: str) -> np.ndarray:
        """Samples of each client and class, [K, C], in all parts of a setting's partition (first seed).

        Raises FairflError if the samples have no classes.
        """
        path = self._file("statistics", setting)
        try:
            frame = pd.read_csv(path)
            counts = frame.filter(regex=r"^label_\d+$").groupby(frame["client"]).sum()
        except (OSError, KeyError, ValueError) as error:
            raise FairflError(f"{path}: not the statistics of a partition: {error!r}") from None
        if not counts.size:
            raise FairflError(f"{setting}: its samples have no classes to count")
        return counts.to_numpy()

    def said(self, setting: str) -> dict[str, float]:
        """What a setting says about itself, by metric id."""
        values = self.spec["settings"][setting]["says"]
        return {name: math.inf if value is None else value for name, value in values.items()}

    @cached_property
    def timed(self) -> dict[str, measured.Timed]:
        """setting -> seconds that were measured in it."""
        return {setting: measured.timed(Path(path)) for setting, path in self._files("timed").items()}

    def comparable(self, setting: str) -> bool:
        """True if nothing but the seeds differs from the paper's setting: only then is it drawn beside ours."""
        return not changed_keys(self.spec["settings"][setting]["changed"])

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """Metrics per evaluated round and client; losses and gaps in nats, accuracies as fractions."""
        paths = map(Path, self._files("rounds").values())
        frames = [_with_columns(tables.arrow(path).to_pandas(), _ROUNDS, path) for path in paths]
        frame = pd.concat(frames, ignore_index=True)
        return frame.assign(hyperparameters=frame["hyperparameters"].fillna("").astype(str))

    def samples(self, setting: str) -> Samples:
        """All samples of the clients of a setting (first seed)."""
        tensors, _ = prepared.load(Path(self._file("data", setting)), "inputs", "labels")
        dealt = read(Path(self._file("partition", setting)), len(tensors["labels"])).columns
        rows = dealt["row"]
        return Samples(tensors["inputs"][rows], tensors["labels"][rows], dealt["client"], dealt["part"])

    def clusters(self, setting: str) -> list[int] | None:
        """True cluster of each client of a setting, numbered from 0 (first seed), None where the data have none."""
        path = Path(self._file("partition", setting))
        text = (tables.arrow(path).schema.metadata or {}).get(b"clusters")
        return None if text is None else shape.parsed(text, [range(2**31)], str(path))

    def plane(self, setting: str, part: str = "train") -> Samples:
        """Samples with two features; part is 'train' or 'all'. Raises FairflError for other data."""
        samples = self.samples(setting)
        if samples.features.ndim != 2 or samples.features.shape[1] != 2:
            shape = "x".join(map(str, samples.features.shape[1:]))
            plot = self.spec["artifact"]["plot"]
            raise FairflError(f"{setting}: plot {plot} draws two features, the samples have shape {shape}")
        return samples.only(samples.part == TRAIN) if part == "train" else samples

    def model(self, setting: str, row: Row) -> tuple[int, dict[str, np.ndarray]] | None:
        """(seed, tensors) of the first model that the spec lists for a row, None if it was not run."""
        for run, path in self._files("model").items():
            place, algorithm, folder, seed = run.split("/")
            if place == setting and Variant.from_folder(algorithm, folder).untuned == row.variant:
                return int(seed.removeprefix("seed")), tensors_of(Path(path))
        return None

    def require(self, needs: tuple[str, ...]) -> None:
        """Raises FairflError if the spec lists none of the files that a plot needs."""
        for need in needs:
            for kind in _FILES[need]:
                self._files(kind)

    def present(self, frame: pd.DataFrame) -> list[Row]:
        """The artifact's rows that have results in `frame`; the others are remarked upon.

        Raises NothingRun if there is no result at all.
        """
        found = [row for row in self.rows if not row.of(frame).empty]
        if not found:
            wanted = ", ".join(dict.fromkeys(row.label for row in self.rows))
            raise NothingRun(f"None of its rows was run: {wanted}.")
        self.remark("Not run", list(dict.fromkeys(row.label for row in self.rows if row not in found)))
        return found

    def remark(self, what: str, names: list[str]) -> None:
        """Say 'what: a, b.' if there are names."""
        if names:
            self.say(f"{what}: {', '.join(names)}.")

    def say(self, sentence: str) -> None:
        """Add a sentence to the remarks, once."""
        if sentence not in self.remarks:
            self.remarks.append(sentence)

    def axis(self, metric: str) -> str:
        """Title of the axis of one of the artifact's columns: name and unit. Raises FairflError if it is none."""
        described = self.spec["metrics"]
        if metric not in described:
            raise FairflError(f"{self.name}: options: {metric!r} is not one of the columns{nearest(metric, described)}")
        name, unit = described[metric]["name"], re.sub(r"\^?2$", "²", described[metric]["unit"])
        return f"{name} ({unit})" if unit else name

    @property
    def name(self) -> str:
        return f"{self.spec['paper']}_{self.spec['id']}"

    def _files(self, kind: str) -> dict[str, str]:
        files = self.spec.get("files", {}).get(kind)
        if files is None:
            raise FairflError(f"{self.name}: needs files of kind {kind!r}, the spec lists none")
        return files

    def _file(self, kind: str, setting: str) -> str:
        files = self._files(kind)
        if setting not in files:
            raise FairflError(f"{self.name}: no file of kind {kind!r} for setting {setting!r}; there is {list(files)}")
        return files[setting]


def read_spec(text: str) -> dict[str, Any]:
    """Parse the job spec. Raises FairflError if it is not the JSON of an artifact."""
    return shape.parsed(text, _SPEC, "--spec")


def in_units(frame: pd.DataFrame, units: dict[str, tuple[str, ...]]) -> pd.DataFrame:
    """Convert `value`, and `spread` if there is one, to the first unit of each metric, unless they are in one of its.

    Members of a family (gap_client_3) follow gap_client_k. Raises FairflError if a unit cannot be converted.
    """
    known = [units.get(name, units.get(re.sub(r"_\d+$", "_k", name), ())) for name in frame["metric"]]
    shown = [unit if unit in own or not own else own[0] for unit, own in zip(frame["unit"], known, strict=True)]
    factors = np.ones(len(frame))
    for index, (metric, unit, target) in enumerate(zip(frame["metric"], frame["unit"], shown, strict=True)):
        try:
            factors[index] = factor(unit, target)
        except FairflError:
            raise FairflError(f"metric {metric}: measured in {unit!r}, the paper prints {target!r}") from None
    converted = {name: frame[name] * factors for name in ("value", "spread") if name in frame}
    return frame.assign(**converted, unit=shown)


def tensors_of(path: Path) -> dict[str, np.ndarray]:
    """Read a safetensors file. Raises FairflError if it is missing or damaged."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (SafetensorError, FileNotFoundError) as error:
        raise FairflError(f"{path}: cannot be read as safetensors: {error}") from None


def _csv(path: Path, columns: tuple[str, ...], numbers: tuple[str, ...]) -> pd.DataFrame:
    """A CSV file: `numbers` may be empty, `seed` is a whole number, everything else is text."""
    text = {name: str for name in columns if name not in (*numbers, "seed")}
    empty = dict.fromkeys(numbers, ["", "nan", "NaN"])
    try:
        frame = pd.read_csv(path, dtype=text, keep_default_na=False, na_values=empty)
    except (ValueError, OSError) as error:
        raise FairflError(f"{path}: cannot be read as CSV: {error}") from None
    return _with_columns(frame, columns, path)


def _with_columns(frame: pd.DataFrame, columns: tuple[str, ...], path: Path) -> pd.DataFrame:
    missing = [name for name in columns if name not in frame]
    if missing:
        raise FairflError(f"{path}: no column {', '.join(missing)}")
    return frame


def labels(settings: list[str], given: dict[str, str]) -> dict[str, str]:
    """How settings are called in an artifact: `given` by its options, else their ids."""
    return {setting: given.get(setting, setting) for setting in settings}


def finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
