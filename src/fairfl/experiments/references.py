"""Whatever a workload names is there: settings, algorithms, variants with valid hyper-parameters, what is timed."""

import fnmatch
from typing import TYPE_CHECKING

from fairfl.experiments.declaration import declaration
from fairfl.experiments.searches import Tuning
from fairfl.experiments.variant import Run, names_of, selected_by
from fairfl.runtime.plain_data import few, shown
from fairfl.runtime.validation import SpecError, nearest

if TYPE_CHECKING:
    from fairfl.experiments.selection import ExperimentSelection
    from fairfl.experiments.workload import Workload


def check_references(workload: "Workload") -> None:
    """Every artifact names settings that exist, as does shared tuning; every variant has valid hyper-parameters."""
    for paper, key, artifact in workload.artifacts.values():
        for setting in artifact.settings:
            if setting not in workload.settings:
                hint = nearest(setting, workload.settings)
                raise SpecError(
                    f"papers/{paper}.yaml: artifacts.{key}.settings: no setting {setting!r}{hint}"
                )
    if fault := next(workload.sharing.faults(), None):
        raise SpecError(fault)
    _check_selected(workload)
    _check_timing(workload)
    for name, each in workload.settings.items():
        if each.tuning and each.tuning.trials_of:
            trials_owner(workload, name, each.tuning)
    for table in (workload.variants, workload.timed_variants):
        for setting, variants in table.items():
            for run in (Run(setting, variant, 0) for variant in variants):
                workload.hyperparameters(run)
                workload.modifiers(run)


def _check_selected(workload: "Workload") -> None:
    """Raise SpecError unless settings, algorithms and variants that config.yaml selects are there."""
    for pattern in workload.config.settings or []:
        if not fnmatch.filter(workload.settings, pattern):
            raise SpecError(
                f"config.yaml: settings: no setting {shown(pattern)}{nearest(pattern, workload.settings)}"
            )
    selectors = names_of(
        row.variant
        for artifact, setting in workload.shown_settings()
        for row in artifact.variants_in(setting)
    )
    for text in workload.config.algorithms or []:
        if selected_by(text) not in selectors:
            raise SpecError(
                f"config.yaml: algorithms: no artifact uses {shown(text)}{nearest(text, selectors.values())}"
            )


def left_out(selection: "ExperimentSelection", name: str) -> str:
    """Key that leaves out a paper or an artifact that there is; "" for names of nothing."""
    paper, _, key = name.partition("_")
    if paper in selection.faulty:
        return f": {selection.faulty[paper]}"
    if paper in selection.unselected:
        return f": `papers` leaves out {paper}"
    if paper not in selection.config.papers or key not in selection.papers[paper].artifacts:
        return ""
    settings = selection.papers[paper].artifacts[key].settings
    if settings and not any(map(selection.selected, settings)):
        return f": `settings` leaves out all that it shows: {few(settings, 3)}"
    return ": `artifacts` leaves it out"


def trials_owner(workload: "Workload", setting: str, tuning: Tuning) -> str:
    """The setting whose trials are scored for another one; SpecError unless they are the same but for the score."""
    where = f"{workload.file_of(setting)}: settings.{setting}.tuning.trials_of"
    name, scored = tuning.trials_of or "", {"metric", "direction", "trials_of", "always"}
    other = workload.settings.get(name)
    if other is None or other.tuning is None:
        tuned = [key for key, one in workload.settings.items() if one.tuning and key != setting]
        raise SpecError(f"{where}: no setting {shown(name)} with `tuning`{nearest(name, tuned)}")
    if other.tuning.trials_of:
        raise SpecError(
            f"{where}: {shown(name)} takes the trials of {other.tuning.trials_of}: name that one"
        )
    if other.tuning.model_dump(exclude=scored) != tuning.model_dump(exclude=scored):
        raise SpecError(f"{where}: the grid, seeds or rounds of {shown(name)} are others")
    if other.training() != workload.settings[setting].training():
        raise SpecError(f"{where}: {shown(name)} differs in more than its tuning")
    return name


def _check_timing(workload: "Workload") -> None:
    """Every setting with timed numbers says how often to repeat, every timed variant can train on its own."""
    for setting, metrics in workload.seconds.items():
        where = f"{workload.file_of(setting)}: settings.{setting}"
        if workload.settings[setting].timing is None:
            raise SpecError(
                f"{where}: has no `timing`, but an artifact prints {', '.join(sorted(metrics))}"
            )
        for algorithm in {
            variant.algorithm: None for variant in workload.timed_variants.get(setting, ())
        }:
            declared = declaration("algorithms", algorithm)
            if (
                not declared.is_federated
                or "local_optimum_loss" in declared.measurements
                or declared.depends_on
            ):
                raise SpecError(
                    f"{where}: {algorithm} cannot be timed: it has no rounds, or needs other jobs' results"
                )
