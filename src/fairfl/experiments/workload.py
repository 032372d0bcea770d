"""Expansion of config + papers + scale into the run table.

Everything that a Snakemake rule asks is answered here from plain data: which runs there are, where
their files lie, and the resolved spec of each job as one dictionary. Nothing here imports torch.
"""

import fnmatch
import itertools
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fairfl.experiments.config import Config
from fairfl.experiments.declaration import declaration, names, parameters
from fairfl.experiments.paper import Artifact, Paper, Scale
from fairfl.experiments.reading import load_paper, load_scale, nested, patched
from fairfl.experiments.setting import Setting, Tuning
from fairfl.experiments.strict import merged
from fairfl.metrics.origin import INFERENCE, TRAINING, origin
from fairfl.runtime.plain import level, shown
from fairfl.runtime.validation import SpecError, check, nearest

# Ends the name of an arm that runs with what the tuning chose, so that both kinds of results can lie side by side.
TUNED = "+tuned"


@dataclass(frozen=True, order=True)
class Run:
    """setting x arm x seed: one training job."""

    setting: str
    algorithm: str
    arm: str
    seed: int

    @property
    def id(self) -> str:
        """The run id is the path below results/<scale>/runs/."""
        return f"{self.setting}/{self.algorithm}/{self.arm}/seed{self.seed}"


def arm_name(hyperparameters: dict[str, Any], separator: str = "~") -> str:
    """Folder name of an arm: 'alpha=0.1~tau=10', 'default' if the algorithm has no row parameters.

    config.yaml and messages have commas. Folders do not: they are wildcards, and Snakemake cannot pass one with a comma
    to a cluster's job (snakemake issue 2366).
    """
    if not hyperparameters:
        return "default"
    return separator.join(f"{key}={level(value)}" for key, value in sorted(hyperparameters.items()))


def parted(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Hyper-parameters of the algorithm and of its modifiers, {"q": 1, "dp.sigma": 2, "lsr": True} ->
    {"q": 1}, {"dp": {"sigma": 2}, "lsr": {}}."""
    known = names("modifiers")
    own: dict[str, Any] = {}
    modifiers: dict[str, dict[str, Any]] = {}
    for key, value in row.items():
        name, dot, parameter = key.partition(".")
        if dot:
            modifiers.setdefault(name, {})[parameter] = value
        elif name in known:
            modifiers.setdefault(name, {})
        else:
            own[key] = value
    return own, modifiers


@dataclass
class Workload:
    """All that `snakemake` may be asked for, at one scale."""

    config: Config
    papers: dict[str, Paper]
    scale: Scale
    settings: dict[str, Setting]
    paper_of: dict[str, str]

    # -- runs ---------------------------------------------------------------------------------
    @cached_property
    def artifacts(self) -> dict[str, tuple[str, str, Artifact]]:
        """Selected artifacts: 'eagle_table8' -> (paper, id, artifact), each with the selected ones of its settings."""
        every = {
            f"{name}_{key}": (name, key, kept)
            for name in self.config.papers
            for key, artifact in self.papers[name].artifacts.items()
            if (kept := self._restricted(artifact)) is not None
        }
        if self.config.artifacts is None:
            return every
        for wanted in self.config.artifacts:
            if wanted not in every:
                raise SpecError(f"config.yaml: artifacts: no artifact {shown(wanted)}{nearest(wanted, every)}")
        return {key: value for key, value in every.items() if key in self.config.artifacts}

    def selected(self, setting: str) -> bool:
        wanted = self.config.settings
        return wanted is None or any(fnmatch.fnmatchcase(setting, pattern) for pattern in wanted)

    def wants(self, algorithm: str, row: dict[str, Any] | None = None) -> bool:
        """True if an arm is to run, or, without a row, any arm of the algorithm: config says qffl/q=0.1 or qffl."""
        wanted = self.config.algorithms
        if wanted is None or algorithm in wanted:
            return True
        if row is None:
            return any(name.partition("/")[0] == algorithm for name in wanted)
        return f"{algorithm}/{arm_name(row, ',')}" in wanted

    def _restricted(self, artifact: Artifact) -> Artifact | None:
        """The artifact without settings that are not to run; None if nothing of it is left."""
        kept = list(filter(self.selected, artifact.settings))
        return artifact.model_copy(update={"settings": kept}) if kept or not artifact.settings else None

    @cached_property
    def arms(self) -> dict[str, dict[tuple[str, str], dict[str, Any]]]:
        """setting -> {(algorithm, arm): row hyper-parameters}, over the selected artifacts."""
        table: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
        for _, _, artifact in self.artifacts.values():
            if "tidy" not in artifact.origins:
                continue
            for setting in artifact.settings:
                for row in artifact.arms_in(setting):
                    if not self.wants(row.algorithm, row.hyperparameters) and row != artifact.baseline:
                        continue
                    tuned = self.config.tuned and self.tunes(setting, row.algorithm)
                    arm = (row.algorithm, arm_name(row.hyperparameters) + TUNED * tuned)
                    own = table.setdefault(setting, {})
                    own[arm] = dict(row.hyperparameters)
                    if before := self._before(setting, row.algorithm, own[arm]):
                        own.setdefault((before[0], arm_name(before[1])), before[1])
        return table

    def _before(self, setting: str, algorithm: str, row: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Algorithm and hyper-parameters of the arm that must have run first, AFTER in the algorithm's file."""
        declared = getattr(self.declared(algorithm), "AFTER", None)
        if declared is None:
            return None
        first, shared = declared
        values = self._values(setting, algorithm, row)
        return first, {key: values[key] for key in shared}

    def predecessor(self, run: Run) -> Run | None:
        """The run whose memberships a run starts from; None if it needs none."""
        before = self._before(run.setting, run.algorithm, self.arms[run.setting][run.algorithm, run.arm])
        return Run(run.setting, before[0], arm_name(before[1]), run.seed) if before else None

    @cached_property
    def seconds(self) -> dict[str, set[str]]:
        """setting -> timed metrics that the selected artifacts print for it."""
        found: dict[str, set[str]] = {}
        for _, _, artifact in self.artifacts.values():
            for setting in artifact.settings:
                columns = artifact.columns_in.get(setting, artifact.columns)
                if metrics := {metric for metric in columns if origin(metric) == "timed"}:
                    found.setdefault(setting, set()).update(metrics)
        return found

    @cached_property
    def timed_arms(self) -> dict[str, dict[tuple[str, str], dict[str, Any]]]:
        """setting -> {(algorithm, arm): row hyper-parameters} whose seconds are printed, as reported: never tuned."""
        table: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
        for _, _, artifact in self.artifacts.values():
            for setting in artifact.settings:
                for row in artifact.rows_in(setting):
                    columns = artifact.columns_for(row.algorithm, setting)
                    wanted = self.wants(row.algorithm, row.hyperparameters)
                    if wanted and {*TRAINING, *INFERENCE} & {*columns}:
                        arm = (row.algorithm, arm_name(row.hyperparameters))
                        table.setdefault(setting, {})[arm] = dict(row.hyperparameters)
        return table

    @cached_property
    def runs(self) -> list[Run]:
        """Every training job, without those of `local_only` (its results are the local optima)."""
        return [
            Run(setting, algorithm, arm, seed)
            for setting, arms in self.arms.items()
            for algorithm, arm in arms
            if self.declared(algorithm).ROUNDS
            for seed in self.settings[setting].seeds
        ]

    def baseline(self, setting: str) -> str | None:
        """Algorithm that the runs of a setting are held against, if an artifact asks for that."""
        named = {a.baseline.algorithm for _, _, a in self.artifacts.values() if a.baseline and setting in a.settings}
        return next(iter(named), None)

    def runs_of(self, setting: str) -> list[Run]:
        return [run for run in self.runs if run.setting == setting]

    def declared(self, algorithm: str) -> Any:
        """Config and constants of an algorithm file."""
        return declaration("algorithms", algorithm)

    def hyperparameters(self, run: Run) -> dict[str, Any]:
        """All parameters of the arm: row values over the setting's over the paper's defaults over the file's."""
        return self._values(run.setting, run.algorithm, self._row(run))

    def _row(self, run: Run) -> dict[str, Any]:
        """Row hyper-parameters of the arm, with those of its modifiers."""
        arms = self.arms.get(run.setting, {}) | self.timed_arms.get(run.setting, {})
        return arms[run.algorithm, run.arm]

    def _values(self, setting: str, algorithm: str, row: dict[str, Any]) -> dict[str, Any]:
        paper = self.paper_of[setting]
        usage = self.papers[paper].algorithms.get(algorithm)
        own = self.settings[setting].hyperparameters.get(algorithm, {})
        given = {**(usage.defaults if usage else {}), **own, **parted(row)[0]}
        where = f"{setting}: {algorithm}({arm_name(row, ',')})"
        return parameters("algorithms", algorithm, given, f"papers/{paper}.yaml", where)

    def modifiers(self, run: Run) -> dict[str, dict[str, Any]]:
        """The modifiers of the arm, each with all its parameters: row values over the paper's defaults over the file's.

        Raises SpecError for one that does not exist, or that the algorithm or the loss of the setting does not allow.
        """
        paper, setting = self.paper_of[run.setting], self.settings[run.setting]
        row = self._row(run)
        file, where = f"papers/{paper}.yaml", f"{run.setting}: {run.algorithm}({arm_name(row, ',')})"
        found = {}
        for name, given in parted(row)[1].items():
            values = {**self.papers[paper].modifiers.get(name, {}), **given}
            found[name] = parameters("modifiers", name, values, file, f"{where}: {name}")
            losses = getattr(declaration("modifiers", name), "LOSSES", None)
            if name in getattr(self.declared(run.algorithm), "REFUSES", ()):
                raise SpecError(f"{file}: {where}: {name} makes no sense with {run.algorithm}")
            if losses is not None and setting.loss not in losses:
                raise SpecError(f"{file}: {where}: {name} acts on loss {', '.join(losses)}, not on {setting.loss}")
        return found

    # -- grids --------------------------------------------------------------------------------
    def calibration_grid(self, paper: str, name: str) -> list[str]:
        """Setting ids of a calibration grid; each is added to `settings` and `arms` on first use."""
        calibration = self.papers[paper].calibrations[name]
        base = self.settings[calibration.setting].model_dump(mode="json")
        ids = []
        for point in _grid(calibration.grid):
            data = base
            for key, value in point.items():
                data = merged(data, nested(key, value))
            setting = f"{calibration.setting}~{arm_name(point)}"
            self._add(setting, data, paper, f"calibrations.{name}", {(calibration.algorithm, "default"): {}})
            ids.append(setting)
        return ids

    def tuning_grid(self, setting: str) -> dict[str, dict[str, Any]]:
        """Setting id of each point of a setting's tuning grid -> its learning rate and batch size.

        Each is added to `settings` on first use, with the arms of all algorithms that are tuned.
        """
        base = self.settings[setting]
        if base.tuning is None:
            raise SpecError(f"papers/{self.paper_of[setting]}.yaml: settings.{setting}: has no `tuning`")
        arms = {
            (algorithm, arm_name(row)): row
            for algorithm, grid in base.tuning.algorithms.items()
            if self.wants(algorithm)
            for row in _grid(grid)
        }
        points = {}
        for point in _grid(base.tuning.grid):
            name = f"{setting}~tuning~{arm_name(point)}"
            self._add(name, base.tuned_at(point), self.paper_of[setting], f"settings.{setting}.tuning", arms)
            points[name] = point
        return points

    def tuned_settings(self) -> list[str]:
        """Settings whose tuning grid must run: an artifact prints what was chosen, or a run takes it."""
        printed = {s for _, _, a in self.artifacts.values() if "tuned" in a.origins for s in a.settings}
        taken = {run.setting for run in self.runs if self.tuning_of(run)}
        return [name for name in self.settings if name in printed | taken]

    def tunes(self, setting: str, algorithm: str) -> bool:
        """True if the algorithm is tuned in the setting."""
        tuning = self.settings[setting].tuning
        return tuning is not None and algorithm in tuning.algorithms

    def tuning_of(self, run: Run) -> Tuning | None:
        """The tuning whose choice a run takes; None if it runs with the reported values."""
        return self.settings[run.setting].tuning if run.arm.endswith(TUNED) else None

    def _add(self, name: str, data: dict[str, Any], paper: str, where: str, arms: dict) -> None:
        if name not in self.settings:
            self.settings[name] = check(data, Setting, f"papers/{paper}.yaml", where)
            self.paper_of[name] = paper
            self.arms.setdefault(name, {}).update(arms)
            self.__dict__.pop("runs", None)


def _grid(axes: dict[str, list]) -> list[dict[str, Any]]:
    """Every point of a grid: {a: [1, 2], b: [3]} -> {a: 1, b: 3}, {a: 2, b: 3}."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def load_workload(root: Path, overrides: dict[str, Any]) -> Workload:
    """Read and validate everything below `root`; `overrides` is Snakemake's merged config.

    Raises SpecError (one line per problem) before any job is planned.
    """
    config = check(overrides, Config, "config.yaml")
    available = {path.stem: path for path in sorted((root / "papers").glob("*.yaml"))}
    for name in config.papers:
        if name not in available:
            raise SpecError(f"config.yaml: papers: no paper {shown(name)}{nearest(name, available)}")
    scales = {path.stem: path for path in sorted((root / "scales").glob("*.yaml"))}
    if config.scale not in scales:
        raise SpecError(f"config.yaml: scale: no scale {shown(config.scale)}{nearest(config.scale, scales)}")
    scale_file = f"scales/{config.scale}.yaml"
    scale = load_scale(scales[config.scale])

    papers = {name: load_paper(available[name]) for name in config.papers}
    settings: dict[str, Setting] = {}
    paper_of: dict[str, str] = {}
    for name, paper in papers.items():
        for key, setting in paper.settings.items():
            if key in settings:
                raise SpecError(f"papers/{name}.yaml: settings.{key}: also defined by papers/{paper_of[key]}.yaml")
            resolved = patched(key, setting, scale, scale_file)
            if config.seeds is not None:
                data = {**resolved.model_dump(mode="json"), "seeds": config.seeds}
                resolved = check(data, Setting, "config.yaml")
            settings[key] = resolved
            paper_of[key] = name
    workload = Workload(config, papers, scale, settings, paper_of)
    _check_references(workload)
    return workload


def _check_references(workload: Workload) -> None:
    """Every artifact names settings that exist; every arm has valid hyper-parameters."""
    for paper, key, artifact in workload.artifacts.values():
        for setting in artifact.settings:
            if setting not in workload.settings:
                hint = nearest(setting, workload.settings)
                raise SpecError(f"papers/{paper}.yaml: artifacts.{key}.settings: no setting {setting!r}{hint}")
    for wanted in workload.config.settings or []:
        if not fnmatch.filter(workload.settings, wanted):
            raise SpecError(f"config.yaml: settings: no setting {shown(wanted)}{nearest(wanted, workload.settings)}")
    rows = [row for _, _, a in workload.artifacts.values() for s in a.settings for row in a.arms_in(s)]
    known = {name for r in rows for name in (r.algorithm, f"{r.algorithm}/{arm_name(r.hyperparameters, ',')}")}
    for wanted in workload.config.algorithms or []:
        if wanted not in known:
            raise SpecError(f"config.yaml: algorithms: no artifact uses {shown(wanted)}{nearest(wanted, known)}")
    _check_timing(workload)
    checked: set[tuple[str, str, str]] = set()
    for setting, arms in itertools.chain(workload.arms.items(), workload.timed_arms.items()):
        for algorithm, arm in arms:
            where = (workload.paper_of[setting], algorithm, arm)
            if where not in checked:
                checked.add(where)
                workload.hyperparameters(Run(setting, algorithm, arm, 0))
                workload.modifiers(Run(setting, algorithm, arm, 0))


def _check_timing(workload: Workload) -> None:
    """Every setting with timed numbers says how often to repeat, every timed arm can train on its own."""
    for setting, metrics in workload.seconds.items():
        where = f"papers/{workload.paper_of[setting]}.yaml: settings.{setting}"
        if workload.settings[setting].timing is None:
            raise SpecError(f"{where}: has no `timing`, but an artifact prints {', '.join(sorted(metrics))}")
        for algorithm, _ in workload.timed_arms.get(setting, {}):
            declared = workload.declared(algorithm)
            if not declared.ROUNDS or "val_best" in declared.NEEDS or hasattr(declared, "AFTER"):
                raise SpecError(f"{where}: {algorithm} cannot be timed: it has no rounds, or needs other jobs' results")
