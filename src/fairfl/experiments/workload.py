"""config.yaml, papers and a scale read into one workload, whose names are all there. Nothing here imports torch."""

import fnmatch
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from fairfl.experiments.config import Config, with_papers
from fairfl.experiments.declaration import declaration
from fairfl.experiments.reading import check_artifacts, load_paper, load_scale, patched
from fairfl.experiments.runs import Workload
from fairfl.experiments.setting import Setting
from fairfl.experiments.sharing import with_setting_owners
from fairfl.experiments.strict import load, yaml_files
from fairfl.experiments.variant import Run, names_of, selected_by
from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import shown
from fairfl.runtime.validation import SpecError, check, nearest


def usual_config(root: Path, without: Collection[str] = ()) -> Config:
    """Configuration of config.yaml alone, but for some papers. Raises SpecError if it cannot be read."""
    config = check(load(root / "config.yaml"), Config, "config.yaml")
    return with_papers(config, yaml_files(root / "papers"), without)


def load_workload(
    root: Path,
    overrides: dict[str, Any],
    completed: Callable[[Workload], Workload] = lambda workload: workload,
) -> Workload:
    """Read and validate everything below `root`; `overrides` is Snakemake's merged config.

    Raises FairflError (one line per problem). A faulty paper that only a pattern such as `*` means is left out, also
    if `completed`, which restricts and checks the workload, finds its fault.
    """
    asked = check(overrides, Config, "config.yaml")
    faulty: dict[str, str] = {}
    while True:
        try:
            return completed(_load(root, asked, faulty))
        except FairflError as error:
            match = re.match(rf"({re.escape(str(root))}/)?papers/(.+?)\.ya?ml\b", str(error))
            if (
                not match
                or match[2] in (*asked.papers, *faulty)
                or match[2] not in yaml_files(root / "papers")
            ):
                raise
            faulty[match[2]] = str(error).removeprefix(f"{root}/")


def _load(root: Path, asked: Config, faulty: dict[str, str]) -> Workload:
    available = yaml_files(root / "papers")
    config = with_papers(asked, available, faulty)
    scales = yaml_files(root / "scales")
    if config.scale not in scales:
        raise SpecError(
            f"config.yaml: scale: no scale {shown(config.scale)}{nearest(config.scale, scales)}"
        )
    scale_file = f"scales/{config.scale}.yaml"
    scale = load_scale(scales[config.scale])

    papers = with_setting_owners(
        {name: load_paper(available[name]) for name in config.papers}, available
    )
    check_artifacts(scale, papers, available, scale_file)
    settings: dict[str, Setting] = {}
    paper_of: dict[str, str] = {}
    for name, paper in papers.items():
        for key, setting in paper.settings.items():
            if key in settings:
                raise SpecError(
                    f"papers/{name}.yaml: settings.{key}: also defined by papers/{paper_of[key]}.yaml"
                )
            resolved = patched(key, setting, scale, scale_file)
            if config.seeds is not None:
                data = {**resolved.model_dump(mode="json"), "seeds": config.seeds}
                resolved = check(data, Setting, "config.yaml")
            settings[key] = resolved
            paper_of[key] = name
    unselected = frozenset(available).difference(config.papers)
    workload = Workload(
        config, papers, scale, settings, paper_of, faulty=faulty, unselected=unselected
    )
    _check_references(workload)
    return workload


def _check_references(workload: Workload) -> None:
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
            workload.trials_owner(name, each.tuning)
    for table in (workload.variants, workload.timed_variants):
        for setting, variants in table.items():
            for run in (Run(setting, variant, 0) for variant in variants):
                workload.hyperparameters(run)
                workload.modifiers(run)


def _check_selected(workload: Workload) -> None:
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


def _check_timing(workload: Workload) -> None:
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
