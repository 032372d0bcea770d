"""What a table or figure is made from: its spec, its rows, the numbers and the other files that the spec lists."""

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import load

from fairfl.data import prepared
from fairfl.experiments.artifact import SelectedArtifact
from fairfl.experiments.described import Metric
from fairfl.experiments.variant import Variant
from fairfl.judgement.arithmetic import describe_numerics
from fairfl.judgement.cells import Cell, Cells, Curve, expanded, metric_of, pooled
from fairfl.judgement.changes import changed_keys
from fairfl.judgement.results import Results
from fairfl.judgement.units import unit_words
from fairfl.partition import partition_file
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.reporting.footer import Footer, condensed, grouped, plural
from fairfl.reporting.formulas import literal
from fairfl.runtime.errors import FairflError
from fairfl.runtime.inputs import read_bytes
from fairfl.values import tables
from fairfl.values.json_text import from_text

TRAIN = 0  # in the column `part` of a partition

SOURCES = ("Source", "Arithmetic")  # how remarks begin that say where numbers come from


class NoRunsError(FairflError):
    """None of an artifact's rows has results, because the configuration asks for other algorithms."""


@dataclass(frozen=True)
class ShownRow:
    """One row of a table, one box or curve of a figure: a variant of an algorithm."""

    variant: Variant
    title: str
    setting: str | None = None  # the only one that has it; None: all
    printed: str | None = None  # what the paper prints in place of title and values
    ruled: bool = False  # the paper draws a rule above it

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

    def names(self, setting: str) -> dict[str, Any]:
        """The columns of CSVs that say which numbers these are: of this row in a setting."""
        return {
            "setting": setting,
            "algorithm": self.algorithm,
            "hyperparameters": self.hyperparameters,
        }

    def of(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The lines of a rounds frame that belong to this row."""
        rows = (frame["algorithm"] == self.algorithm) & (
            frame["hyperparameters"] == self.hyperparameters
        )
        return frame[rows if self.setting is None else rows & (frame["setting"] == self.setting)]


def rows_of(artifact: SelectedArtifact, titles: Mapping[str, str]) -> list[ShownRow]:
    """The rows of an artifact; `titles` of the algorithms."""
    return [
        ShownRow(
            row.variant, titles[row.algorithm], row.setting, row.title, number in artifact.rules
        )
        for number, row in enumerate(artifact.rows)
    ]


@dataclass
class Inputs(Footer):
    """Lazy access to what one artifact is made from, and what its note or footer says of it."""

    spec: ArtifactSpec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def where(self) -> str:
        """The artifact's file and key, for errors."""
        return f"papers/{self.spec.paper}.yaml: artifacts.{self.spec.id}"

    @property
    def settings(self) -> list[str]:
        return self.spec.artifact.settings

    @cached_property
    def rows(self) -> list[ShownRow]:
        return rows_of(self.spec.artifact, self.spec.algorithms)

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of settings: by the option `labels`, else their ids."""
        titles = self.spec.artifact.options.get("labels", {})
        return {setting: titles.get(setting, setting) for setting in self.settings}

    @cached_property
    def titles(self) -> dict[str, str]:
        """Titles of panels of settings: their names, and what stood in for the data.

        'MNIST (here: digits)', or 'two shards each (digits for MNIST)' if the title does not name the data.
        """
        panels = {}
        for setting, name in self.names.items():
            here = self.spec.settings[setting].stand_in
            substitute, _, original = here.partition(" for ")
            words = f"here: {substitute}" if here and original in name else here
            panels[setting] = f"{name} ({words})" if here else name
        return panels

    def rows_in(self, setting: str) -> list[ShownRow]:
        """The rows that one of the settings has."""
        return [row for row in self.rows if row.setting in (None, setting)]

    # -- numbers ----------------------------------------------------------------------------------
    @cached_property
    def results(self) -> Results:
        spec = self.spec
        files = {
            **spec.files,
            "reported": {f"{spec.paper}_{k}": f for k, f in spec.files.get("reported", {}).items()},
        }
        values = {
            setting: {
                metric: math.inf if value is None else value
                for metric, value in facts.configured.items()
            }
            for setting, facts in spec.settings.items()
        }
        return Results(files, lambda _: spec.metrics, values)

    @cached_property
    def ours(self) -> Cells:
        """Our numbers. A lossy copy of a data set must not pass for the original: the remarks name sources."""
        cells = self.results.ours
        for source in condensed(self.results.sources):
            text = literal(re.sub(r"- -(?=\d)", "+ ", source))
            self.say(f"{SOURCES[0]}: {text}.")
        changed = [
            (self.names.get(name, name), f"Partition: {text}")
            for name, text in self.results.partitions
        ]
        for sentence in grouped(changed, len(self.settings)):
            self.say(sentence)
        places = {
            (name, row.algorithm, row.hyperparameters)
            for name in self.settings
            for row in self.rows_in(name)
        }
        self.remark(
            SOURCES[1], filter(None, [describe_numerics(self.results.arithmetic_of(places))])
        )
        return cells

    @cached_property
    def _reported(self) -> Cells:
        return pooled(self.name, self.results.reported)

    def cell(self, setting: str, row: ShownRow, metric: str) -> Cell | None:
        """Our number of a row, None without one."""
        return self.ours.find(setting, row.variant, metric)

    def reported(self, setting: str, row: ShownRow, metric: str) -> Cell | None:
        """The paper's number of a row, this artifact's first; None without one."""
        return self._reported.find(setting, row.variant, metric)

    def members(self, column: str, setting: str) -> list[str]:
        """A column, or the ones that it stands for in a setting: gap_client_0, ... for gap_client_k."""
        return expanded(column, setting, self.ours, self._reported)

    def metric(self, name: str) -> Metric:
        """Description of a metric, or of its family, in the artifact's paper."""
        described = metric_of(self.spec.metrics, name, self._owners)
        assert described is not None  # columns are checked when the paper is read
        return described

    @cached_property
    def _owners(self) -> list[str]:
        """Owners of the clients, if they are the same in all settings."""
        different = {tuple(self.results.owners(setting)) for setting in self.settings}
        return list(map(literal, different.pop())) if len(different) == 1 else []

    def clients(self, setting: str) -> list[str]:
        """Names of the clients of a setting (first seed): their owners, where the data name them."""
        partition = partition_file.read(Path(self._file("partition", setting)))
        return partition.owners or [f"client {client}" for client in range(partition.clients)]

    def reported_point(self, setting: str, row: ShownRow, metric: str) -> float | None:
        """The paper's number to draw beside ours; None if it is not known or of another experiment."""
        cell = self.reported(setting, row, metric)
        return cell.mean if cell and self._comparable(setting) else None

    def reported_curve(self, setting: str, row: ShownRow, metric: str) -> Curve:
        """The points of the paper's curve of a metric along training, likewise; none if it is not known."""
        return (
            self._reported.curve(setting, row.variant, metric) if self._comparable(setting) else ()
        )

    def _comparable(self, setting: str) -> bool:
        """True if nothing but the seeds differs from the paper's setting."""
        return not changed_keys(self.spec.settings[setting].changed)

    # -- other files ------------------------------------------------------------------------------
    @cached_property
    def rounds(self) -> pd.DataFrame:
        """Metrics per evaluated round and client; losses and gaps in nats, accuracies as fractions."""
        frames = [tables.arrow(Path(path)).to_pandas() for path in self._files("rounds").values()]
        frame = pd.concat(frames, ignore_index=True)
        return frame.assign(hyperparameters=frame["hyperparameters"].fillna("").astype(str))

    def label_counts(self, setting: str) -> np.ndarray:
        """Samples of each client and class, [K, C], in all parts of a setting's partition (first seed).

        Raises FairflError if the samples have no classes.
        """
        frame = pd.read_csv(io.BytesIO(read_bytes(self._file("statistics", setting))))
        counts = frame.filter(regex=r"^label_\d+$").groupby(frame["client"]).sum()
        if not counts.size:
            raise FairflError(
                f"{self.where}.plot: the samples of {setting} have no classes to count"
            )
        return counts.to_numpy()

    def samples(
        self, setting: str, part: str = "train", features: tuple[str, ...] = ("x", "y")
    ) -> pd.DataFrame:
        """Columns client, class and the `features` of a setting's samples (first seed); part is 'train' or 'all'.

        Raises FairflError if samples have other features than these.
        """
        tensors, _ = prepared.load(Path(self._file("data", setting)), "inputs", "labels")
        columns = partition_file.read(
            Path(self._file("partition", setting)), len(tensors["labels"])
        ).columns
        values = tensors["inputs"][columns["row"]]
        if values.shape[1:] != (len(features),):
            shape = "x".join(map(str, values.shape[1:]))
            plot = f"{self.spec.artifact.plot} draws {plural(len(features), 'feature')}"
            raise FairflError(f"{self.where}.plot: {plot}, {setting} has shape {shape}")
        frame = pd.DataFrame(
            {"client": columns["client"], "class": tensors["labels"][columns["row"]]}
        )
        frame[list(features)] = values
        return frame[columns["part"] == TRAIN] if part == "train" else frame

    def clusters(self, setting: str) -> list[int] | None:
        """True cluster of each client of a setting, numbered from 0 (first seed), None where the data have none."""
        path = Path(self._file("partition", setting))
        text = (tables.arrow(path).schema.metadata or {}).get(b"clusters")
        return None if text is None else from_text(text, list[int], str(path))

    def model(self, setting: str, row: ShownRow) -> tuple[int, dict[str, np.ndarray]] | None:
        """(seed, tensors theta and, if kept, path and path_rounds) of the earliest model that the spec lists for a row.

        None if it was not run.
        """
        for run, path in self._files("model").items():
            place, algorithm, folder, seed = run.split("/")
            if place == setting and Variant.from_folder(algorithm, folder).untuned == row.variant:
                return int(seed.removeprefix("seed")), load(read_bytes(path))
        return None

    # -- what is missing --------------------------------------------------------------------------
    def measured(self) -> list[ShownRow]:
        """The rows that have numbers; what has none is remarked upon."""
        return self._present(lambda row, setting: self.ours.has(row.variant, [setting]))

    def trained(self, rounds: pd.DataFrame) -> list[ShownRow]:
        """The rows that have rounds in a frame; what has none is remarked upon."""
        return self._present(lambda row, setting: (row.of(rounds)["setting"] == setting).any())

    def _present(self, has_results: Callable[[ShownRow, str], bool]) -> list[ShownRow]:
        """The rows with results in any setting. Raises NoRunsError without any result."""
        ran = {s: [row for row in self.rows_in(s) if has_results(row, s)] for s in self.settings}
        present = [row for row in self.rows if any(row in rows for rows in ran.values())]
        if not present:
            raise NoRunsError("Not run at this scale.")
        self.remark("Not run", dict.fromkeys(row.label for row in self.rows if row not in present))
        for setting, rows in ran.items():
            here = (row for row in self.rows_in(setting) if row in present and row not in rows)
            absent = ", ".join(row.label for row in here)
            if rows and absent:  # a setting without any is named as a whole
                self.remark("Not run", [f"{absent} ({self.names[setting]})"])
        return present

    @cached_property
    def _drawn_seeds(self) -> Counter[tuple[str, Variant]]:
        """(setting, variant) -> seeds of a figure's results; none where it needs no runs."""
        if "tidy" in self.spec.files:
            return self.results.seeds
        if "rounds" not in self.spec.files:
            return Counter()
        keys = ["setting", "algorithm", "hyperparameters"]
        runs = self.rounds[[*keys, "seed"]].drop_duplicates()[keys].itertuples(index=False)
        return Counter((setting, Variant.from_csv(*variant)) for setting, *variant in runs)

    def drawn_of(self, setting: str) -> str:
        """'3 seeds', '1 to 2 of 5 seeds': seeds of a setting's rows, of all planned ones; '' if none needs any."""
        every = (self._drawn_seeds[setting, row.variant] for row in self.rows_in(setting))
        seeds, planned = sorted(filter(None, every)), self.spec.settings[setting].seeds
        if not seeds:
            return ""
        few, many = seeds[0], seeds[-1]
        span = f"{few} to {many} of " if few < many else f"{many} of "
        return f"{span if few < planned else ''}{plural(planned, 'seed')}"

    def settings_not_run(self) -> list[str]:
        """The settings of a figure of results in which none of its rows has any."""
        return [
            s
            for s in self.settings
            if {"tidy", "rounds"} & self.spec.files.keys() and not self.drawn_of(s)
        ]

    def axis(self, metric: str) -> str:
        """Title of the axis of one of the artifact's columns: name and unit."""
        described = self.spec.metrics[metric]
        name, unit = described.name, unit_words(described.unit)
        return f"{name} ({unit})" if unit else name

    def _files(self, kind: str) -> dict[str, str]:
        files = self.spec.files.get(kind)
        if files is None:
            raise FairflError(f"{self.where}: needs files of kind {kind!r}, the spec lists none")
        return files

    def _file(self, kind: str, setting: str) -> str:
        files = self._files(kind)
        if setting not in files:
            raise NoRunsError("Not run at this scale.")
        return files[setting]


def mean_and_std(cell: Cell | None) -> tuple[float, float]:
    """Mean and population standard deviation over seeds of a point that is drawn; NaN without a finite number.

    As in the cell, but added up as numpy does: CSVs of figures hold all digits, and the last ones stay as they are.
    """
    if cell is None or cell.mean is None or math.isinf(cell.mean):
        return math.nan, math.nan
    values = np.array(list(cell.by_seed.values()))
    return float(values.mean()), float(values.std())
