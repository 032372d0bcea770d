"""All runs and artifacts that a configuration selects. Nothing here imports torch."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

from fairfl.experiments.artifact import Artifact, Row
from fairfl.experiments.calibration import Point, points
from fairfl.experiments.declaration import declaration, parameters
from fairfl.experiments.origin import INFERENCE, TRAINING, origin
from fairfl.experiments.searches import product
from fairfl.experiments.selection import ExperimentSelection
from fairfl.experiments.setting import Data, Setting, Tuning
from fairfl.experiments.sharing import Sharing
from fairfl.experiments.variant import (
    Run,
    Variant,
    format_hyperparameters,
    split_modifiers,
)
from fairfl.runtime.fingerprint import fingerprint
from fairfl.runtime.plain_data import shown
from fairfl.runtime.validation import SpecError, check, nearest


@dataclass
class Workload(ExperimentSelection):
    """Everything that `snakemake` may be asked for, at one scale."""

    # Keys of prepared data by setting and seed, and the first (setting, seed) found to use each.
    _keys: dict[tuple[str, int], str] = field(default_factory=dict, init=False)
    _first: dict[str, tuple[str, int]] = field(default_factory=dict, init=False)
    # Names of jobs that there may be, of those that take long; None: all.
    available: frozenset[str] | None = None
    _calibrations: dict[str, dict[str, Point]] = field(default_factory=dict, init=False)
    _tunings: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict, init=False)
    # All parameters by setting, algorithm and what is given, so that each is validated once.
    _checked: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict, init=False)

    # -- data ---------------------------------------------------------------------------------
    def prepared(self, setting: str, seed: int) -> str:
        """Key of the prepared data: data set, options that differ from default, seed if sampled again for each one."""
        if (setting, seed) not in self._keys:
            data = self.settings[setting].data
            declared = declaration("data", data.name)
            defaults = declared.Config().model_dump(mode="json")
            changed = {key: value for key, value in data.options.items() if value != defaults[key]}
            suffix = f"-{fingerprint(changed)[:8]}" if changed else ""
            key = f"{data.name}{suffix}" + (f"_seed{seed}" if declared.PER_SEED else "")
            self._keys[setting, seed] = key
            self._first.setdefault(key, (setting, seed))
        return self._keys[setting, seed]

    def prepared_by(self, key: str) -> tuple[Data, int]:
        """The data set, and a seed, that have this key. Raises KeyError if no setting uses it."""
        if key not in self._first:
            for name in self.settings:
                for seed in self.settings[name].seeds:
                    self.prepared(name, seed)
        setting, seed = self._first[key]
        return self.settings[setting].data, seed

    # -- runs ---------------------------------------------------------------------------------
    @cached_property
    def variants(self) -> dict[str, dict[Variant, Variant]]:
        """setting -> {variant: variant as the artifact that comes first writes it}, over the selected artifacts."""
        table: dict[str, dict[Variant, Variant]] = {}
        for artifact, setting in self.shown_settings():
            for row in artifact.variants_in(setting) if "tidy" in artifact.origins else ():
                if not self.wants(row.variant) and row != artifact.baseline:
                    continue
                variant = self._running(setting, row)
                first = table.setdefault(setting, {}).setdefault(variant, variant)
                if repr(first.values) != repr(variant.values):
                    self._check_equal(setting, first, variant)
                if before := self._before(setting, variant):
                    table[setting].setdefault(before, before)
        return table

    def _check_equal(self, setting: str, first: Variant, variant: Variant) -> None:
        """Raises SpecError if two variants that are named alike train with other values, such as 1 and '1'."""
        if repr(self._values(setting, first)) != repr(self._values(setting, variant)):
            both = " and ".join(shown(dict(one.values)) for one in (first, variant))
            where = f"{self.file_of(setting)}: {setting}: {variant.algorithm}"
            raise SpecError(f"{where}: {both} are two values that files name alike: write another")

    def _running(self, setting: str, row: Row) -> Variant:
        """The variant that runs for a row, tuned if config.yaml or the setting asks for that."""
        return Variant(
            row.algorithm, row.hyperparameters, self.takes_choice(setting, row.algorithm)
        )

    def _before(self, setting: str, variant: Variant) -> Variant | None:
        """The variant that must have run first, `depends_on` in the algorithm's file."""
        depends_on = declaration("algorithms", variant.algorithm).depends_on
        if depends_on is None:
            return None
        first, shared = depends_on
        values = self._values(setting, variant)
        return Variant(first, {key: values[key] for key in shared})

    def predecessor(self, run: Run) -> Run | None:
        """The run whose memberships a run starts from; None if it needs none."""
        before = self._before(run.setting, run.variant)
        return Run(run.setting, before, run.seed) if before else None

    def run(self, setting: str, algorithm: str, folder: str, seed: int) -> Run:
        """The run with these wildcards. Raises SpecError if the setting has no such variant."""
        name, variants = f"{algorithm}/{folder}", self.variants.get(setting, {})
        if variant := variants.get(Variant.from_folder(algorithm, folder)):
            return Run(setting, variant, seed)
        hint = nearest(name, [f"{variant.algorithm}/{variant.folder}" for variant in variants])
        raise SpecError(f"{setting}: no run {shown(name)}{hint}")

    @cached_property
    def sharing(self) -> Sharing:
        """Users of each setting, who describe algorithms and metrics there."""
        return Sharing(self.papers, self.config.papers, self.paper_of)

    @cached_property
    def shown(self) -> list[str]:
        """Settings with runs that an artifact shows, so without points of searches."""
        used = {setting for artifact, setting in self.shown_settings() if artifact.rows}
        return [setting for setting in self.variants if setting in used]

    @cached_property
    def seconds(self) -> dict[str, set[str]]:
        """setting -> timed metrics that the selected artifacts print for it."""
        seconds: dict[str, set[str]] = {}
        for artifact, setting in self.shown_settings():
            for metric in artifact.columns_in.get(setting, artifact.columns):
                if origin(metric) == "timed":
                    seconds.setdefault(setting, set()).add(metric)
        return seconds

    @cached_property
    def timed_variants(self) -> dict[str, list[Variant]]:
        """setting -> variants whose seconds are printed, as reported: never tuned."""
        table: dict[str, dict[Variant, None]] = {}
        for artifact, setting in self.shown_settings():
            for row in artifact.rows_in(setting):
                columns = artifact.columns_for(row.algorithm, setting)
                if self.wants(row.variant) and {*TRAINING, *INFERENCE} & {*columns}:
                    table.setdefault(setting, {}).setdefault(row.variant)
        return {setting: list(variants) for setting, variants in table.items()}

    @cached_property
    def runs(self) -> list[Run]:
        """Every training job, without `local_only` (its results are the local optima)."""
        return [
            Run(setting, variant, seed)
            for setting, variants in self.variants.items()
            for variant in variants
            if declaration("algorithms", variant.algorithm).is_federated
            for seed in self.settings[setting].seeds
            if self.has("train", f"{setting}/{variant.algorithm}/{variant.folder}/seed{seed}")
        ]

    def has(self, rule: str, name: str) -> bool:
        """True unless a job is not available."""
        return self.available is None or f"{rule}/{name}" in self.available

    def reference_seeds(self, setting: str) -> list[int]:
        """Seeds whose local optima and surrogates are needed: those with a run, if there may not be all."""
        seeds = self.settings[setting].seeds
        if self.available is None:
            return seeds
        return sorted({run.seed for run in self.runs_of(setting)}, key=seeds.index)

    def restricted_to(self, available: frozenset[str]) -> "Workload":
        """Workload with these jobs alone, among jobs that take long or need data."""
        return replace(self, available=available)

    def baseline(self, setting: str) -> Variant | None:
        """The variant that the runs of a setting are compared with, if an artifact asks for that."""
        for artifact, name in self.shown_settings():
            if artifact.baseline and name == setting:
                return self._running(setting, artifact.baseline)
        return None

    @cached_property
    def _runs(self) -> dict[str, list[Run]]:
        return {name: list(runs) for name, runs in groupby(self.runs, attrgetter("setting"))}

    def runs_of(self, setting: str) -> list[Run]:
        return self._runs.get(setting, [])

    def hyperparameters(self, run: Run) -> dict[str, Any]:
        """All parameters of the algorithm: row values over the setting's over the paper's defaults over the file's."""
        return self._values(run.setting, run.variant)

    def _values(self, setting: str, variant: Variant) -> dict[str, Any]:
        algorithm = variant.algorithm
        usage = self.sharing.usage(setting, algorithm)
        of_setting = self.settings[setting].hyperparameters.get(algorithm, {})
        values = (usage.defaults if usage else {}) | of_setting
        values |= split_modifiers(dict(variant.values))[0]
        key = setting, algorithm, repr(values)
        if key not in self._checked:
            where = (
                f"papers/{self.sharing.author(setting, algorithm)}.yaml",
                f"{setting}: {variant}",
            )
            self._checked[key] = parameters("algorithms", algorithm, values, *where)
        return dict(self._checked[key])

    def modifiers(self, run: Run) -> dict[str, dict[str, Any]]:
        """The modifiers of the variant, each with all its parameters: row values over the setting's over the paper's
        defaults over the file's.

        Raises SpecError for one that does not exist, or that the algorithm or the loss of the setting does not allow.
        """
        paper, setting = self.papers[self.paper_of[run.setting]], self.settings[run.setting]
        file, where = self.file_of(run.setting), f"{run.setting}: {run.variant}"
        modifiers = {}
        for name, parameters_of_row in split_modifiers(dict(run.variant.values))[1].items():
            values = paper.modifiers.get(name, {}) | setting.modifiers.get(name, {})
            values |= parameters_of_row
            modifiers[name] = parameters("modifiers", name, values, file, f"{where}: {name}")
            losses = declaration("modifiers", name).losses
            used = {name, *(f"{name}.{key}={value}" for key, value in modifiers[name].items())}
            if wrong := used.intersection(
                declaration("algorithms", run.algorithm).incompatible_modifiers
            ):
                raise SpecError(
                    f"{file}: {where}: {min(wrong)} makes no sense with {run.algorithm}"
                )
            if losses and setting.loss not in losses:
                raise SpecError(
                    f"{file}: {where}: {name} acts on loss {', '.join(losses)}, not on {setting.loss}"
                )
        return modifiers

    # -- grids --------------------------------------------------------------------------------
    def calibration_grid(self, setting: str) -> dict[str, Point]:
        """Setting id of each point of the grid over a setting's unstated facts; the named choices come first.

        Each is added to `settings` on first use, with FedAvg alone.
        """
        unstated, where = self._search(setting, "unstated")
        if setting not in self._calibrations:
            self._calibrations[setting] = {
                f"{setting}~calibration~{format_hyperparameters(point.options)}": point
                for point in points(self.settings[setting], unstated, *where)
            }
            for name, point in self._calibrations[setting].items():
                data = point.setting.model_dump(mode="json")
                self._add(name, data, where, [Variant(unstated.algorithm, {})])
        return self._calibrations[setting]

    def tuning_grid(self, setting: str) -> dict[str, dict[str, Any]]:
        """Setting id of each point of a setting's tuning grid -> its learning rate and batch size.

        Each is added to `settings` on first use, with the variants of all algorithms that are tuned, whether they are
        selected or not: a baseline is tuned, too.
        """
        tuning, where = self._search(setting, "tuning")
        if tuning.trials_of:
            return self.tuning_grid(self.trials_owner(setting, tuning))
        if setting not in self._tunings:
            variants = [
                Variant(algorithm, row)
                for algorithm, grid in tuning.algorithms.items()
                for row in product(grid)
            ]
            self._tunings[setting] = {
                f"{setting}~tuning~{format_hyperparameters(point)}": point
                for point in product(tuning.grid)
            }
            for name, point in self._tunings[setting].items():
                self._add(name, self.settings[setting].tuned_at(point), where, variants)
        return self._tunings[setting]

    def trials_owner(self, setting: str, tuning: Tuning) -> str:
        """The setting whose trials are scored for another one; SpecError unless they are the same but for the score."""
        where = f"{self.file_of(setting)}: settings.{setting}.tuning.trials_of"
        name, scored = tuning.trials_of or "", {"metric", "direction", "trials_of", "always"}
        other = self.settings.get(name)
        if other is None or other.tuning is None:
            tuned = [key for key, one in self.settings.items() if one.tuning and key != setting]
            raise SpecError(
                f"{where}: no setting {shown(name)} with `tuning`{nearest(name, tuned)}"
            )
        if other.tuning.trials_of:
            raise SpecError(
                f"{where}: {shown(name)} takes the trials of {other.tuning.trials_of}: name that one"
            )
        if other.tuning.model_dump(exclude=scored) != tuning.model_dump(exclude=scored):
            raise SpecError(f"{where}: the grid, seeds or rounds of {shown(name)} are others")
        if other.training() != self.settings[setting].training():
            raise SpecError(f"{where}: {shown(name)} differs in more than its tuning")
        return name

    def _search(self, setting: str, key: str) -> tuple[Any, tuple[str, str]]:
        """The `unstated` or the `tuning` of a setting, and its file and place. Raises SpecError if it has none."""
        file, search = self.file_of(setting), getattr(self.settings[setting], key)
        if search is None:
            raise SpecError(f"{file}: settings.{setting}: has no `{key}`")
        return search, (file, f"settings.{setting}.{key}")

    def _add(
        self, name: str, data: dict[str, Any], where: tuple[str, str], variants: list[Variant]
    ) -> None:
        """Make a point of a grid a setting: <setting>~<kind>~<what differs>."""
        if name not in self.settings:
            self.settings[name] = check(data, Setting, *where)
            self.paper_of[name] = self.paper_of[name.partition("~")[0]]
        if name not in self.variants:  # `restricted_to` has its own
            self.variants[name] = dict(zip(variants, variants, strict=True))
            self.__dict__.pop("runs", None)

    def choices(self, artifact: Artifact) -> list[str]:
        """The choices of tuning that an artifact prints, <setting>/<algorithm>."""
        return [
            f"{setting}/{row.algorithm}"
            for setting in artifact.settings
            for row in artifact.rows_in(setting)
            if self.tunes(setting, row.algorithm) and self.wants(row.variant)
        ]

    def tunes(self, setting: str, algorithm: str) -> bool:
        """True if the algorithm is tuned in the setting."""
        tuning = self.settings[setting].tuning
        return tuning is not None and algorithm in tuning.algorithms

    def takes_choice(self, setting: str, algorithm: str) -> bool:
        """True if the runs of an algorithm in a setting train with what the tuning chooses."""
        tuning = self.settings[setting].tuning
        return self.tunes(setting, algorithm) and (
            self.config.tuned or (tuning is not None and tuning.always)
        )

    def tuning_of(self, run: Run) -> Tuning | None:
        """The tuning whose choice a run takes; None if it runs with the reported values."""
        return self.settings[run.setting].tuning if run.variant.tuned else None
