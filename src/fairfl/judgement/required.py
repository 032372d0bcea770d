"""What an artifact must name, and what its settings must measure, so that there is something to print or draw."""

import re
from collections.abc import Iterator
from types import SimpleNamespace

from pydantic import BaseModel

from fairfl.experiments.artifact import Artifact
from fairfl.experiments.declaration import declaration
from fairfl.experiments.origin import origin, reference
from fairfl.experiments.paper import Paper
from fairfl.experiments.setting import Setting
from fairfl.experiments.variant import selected_by
from fairfl.experiments.workload import Workload
from fairfl.judgement.cells import metric_of
from fairfl.judgement.units import shown_as
from fairfl.metrics.registry import (
    FAMILIES,
    KINDS,
    METRICS,
    PER_CLIENT,
    UNITS,
    unit_of,
)
from fairfl.runtime.validation import nearest

_ACCURACY = ("accuracy", "recall")
# Metrics whose value is known in each evaluated round.
ALONG_TRAINING = [
    name for name, (_, vector, _) in METRICS.items() if vector in ("loss", *_ACCURACY)
]
_TRAINED = {"tidy", "rounds", "model"}  # files of runs


def unknown_metrics(paper: Paper) -> Iterator[str]:
    """Faults of metrics that nothing measures, or not in such a unit."""
    for metric, described in paper.metrics.items():
        unit = unit_of(metric)
        if unit is None:
            families = [f"{family}_{k}" for family in FAMILIES for k in ("k", 0)]
            yield f"metrics.{metric}: nothing measures it{nearest(metric, [*UNITS, *families])}"
            continue
        units = dict.fromkeys([*shown_as(unit), *shown_as(unit.replace("nats", "mse"))])
        for printed_unit in (described.unit, *described.other_units) if unit else ():
            if printed_unit and printed_unit not in units:
                yield f"metrics.{metric}.unit: {printed_unit!r}: it is measured in {unit}{nearest(printed_unit, units)}"


def missing(workload: Workload, paper: str, key: str, artifact: Artifact) -> Iterator[str]:
    """Faults of a table or figure: nothing to show, names that it does not have, settings that do not measure it.

    `artifact` may be a part of the paper's own, with the settings that config.yaml selects; its plot exists and takes
    its options.
    """
    whole = workload.papers[paper].artifacts[key]
    measured = {setting: list(_columns(artifact, setting)) for setting in artifact.settings}
    if artifact.plot is not None:
        declared = declaration("reporting/plots", artifact.plot)
        options = declared.Config.model_validate(artifact.options)
        yield from _named(whole, declared, options)
        for setting in artifact.settings:
            measured[setting] += _listed(options, "metrics")
            yield from _evaluated(setting, workload.settings[setting], declared, options)
    for setting, metrics in measured.items():
        for metric in dict.fromkeys(metrics):
            if fault := _unmeasured(workload, setting, metric) or _unit(
                workload, paper, setting, metric
            ):
                yield f"{metric}: {fault}"


def _columns(artifact: Artifact, setting: str) -> Iterator[str]:
    for row in artifact.rows_in(setting):
        yield from artifact.columns_for(row.algorithm, setting)


def _listed(options: BaseModel, name: str) -> list[str]:
    """Names in a plot's options, given by a method that its Config may have: columns, metrics, parts."""
    return list(getattr(options, name)()) if callable(getattr(options, name, None)) else []


def _named(artifact: Artifact, declared: SimpleNamespace, options: BaseModel) -> Iterator[str]:
    """Parts that the plot cannot do without; names in its options that the artifact does not have."""
    needed = [("settings", bool(declared.NEEDS)), ("rows", bool(_TRAINED & set(declared.NEEDS)))]
    needed.append(("columns", getattr(declared, "DRAWS_COLUMNS", False)))
    for part, is_needed in needed:
        if is_needed and not getattr(artifact, part):
            yield f"plot {artifact.plot} needs {part}: {_EXAMPLES[part]}"
    for name in artifact.columns if getattr(declared, "DRAWS_COLUMNS", False) else ():
        if (client := _client_of(name)) and client[1] == "k":
            yield (
                f"columns: {name!r} is a number for each client; plot {artifact.plot} takes one client's, such as "
                f"{client[0]}_0"
            )
    for name in _listed(options, "columns") if artifact.columns else ():
        if name not in artifact.columns:
            yield f"options: {name!r} is not one of the columns{nearest(name, artifact.columns)}"
    for name in _listed(options, "rows"):
        rows = {
            text: selected_by(text)
            for row in artifact.rows
            for text in (row.algorithm, row.variant.selector)
        }
        if selected_by(name) not in rows.values():
            yield f"options: {name!r} is not one of the rows{nearest(name, rows)}"
    for option in ("labels", "places"):
        for name in getattr(options, option, {}):
            if name not in artifact.settings:
                hint = nearest(name, artifact.settings)
                yield f"options.{option}: {name!r} is not one of the settings{hint}"
    places = getattr(options, "places", {})
    for name in artifact.settings:
        if places and name not in places:
            yield f"options.places: no place for {name}"
    for name in _listed(options, "keys"):
        keys = {key for row in artifact.rows for key, _ in row.variant.values}
        if name not in keys:
            yield f"options: no row has {name!r}{nearest(name, keys)}"
    if getattr(declared, "ALONG_TRAINING", False):
        for metric in artifact.columns:
            if metric not in ALONG_TRAINING:
                hint = nearest(metric, ALONG_TRAINING)
                yield f"columns: {metric!r} cannot be drawn along training{hint}"


_EXAMPLES = {
    "settings": "ids of settings",
    "rows": "algorithms, such as `rows: [{algorithm: fedavg}]`",
    "columns": "metrics, such as `columns: [accuracy_mean]`",
}


def _evaluated(
    setting: str, here: Setting, declared: SimpleNamespace, options: BaseModel
) -> Iterator[str]:
    """Faults of what the plot takes from the runs of a setting, which these do not keep or evaluate."""
    for part in _listed(options, "parts"):
        if part not in here.evaluated_parts:
            parts = ", ".join(here.evaluated_parts)
            yield f"needs clients evaluated on {part}, evaluated_parts of {setting} are {parts}"
    keep = getattr(declared, "KEEP", ("model", "path") if "model" in declared.NEEDS else ())
    if keep and here.keep not in keep:
        yield f"needs the models of the runs: {setting} has keep: {here.keep}, expected {' or '.join(keep)}"


def _unmeasured(workload: Workload, setting: str, metric: str) -> str:
    """Reason why a setting has no value of a metric; '' if it has one."""
    here, base = workload.settings[setting], re.sub(rf"_({'|'.join(KINDS)})$", "", metric)
    if origin(metric) == "tuned" and here.tuning is None:
        return f"is what tuning chose, and {setting} has no tuning"
    if origin(metric) != "tidy":
        return ""
    against = "local_optimum" if base.startswith(("gap_", "local_loss_")) else reference(base)
    if against is not None and getattr(here, against) is None:
        return f"is measured from each client's {against}, which {setting} does not have"
    if metric != base and here.late_evaluations is None:
        return f"is of other evaluations than the last one, and {setting} has no late_evaluations"
    of = _of(base)
    if here.loss == "squared_error" and of in (*_ACCURACY, "curve", "baseline"):
        return f"{setting} is a regression, which has no accuracy"
    siblings = [
        a
        for name in workload.sharing.builders(setting)
        for a in workload.papers[name].artifacts.values()
    ]
    if of == "baseline" and not any(one.baseline and setting in one.settings for one in siblings):
        return f"no artifact with {setting} has a baseline to compare with, such as `baseline: {{algorithm: fedavg}}`"
    client = _client_of(metric)
    if client is not None and client[1].isdigit() and int(client[1]) >= here.clients:
        return f"{setting} has clients 0 to {here.clients - 1}"
    return ""


def _unit(workload: Workload, paper: str, setting: str, metric: str) -> str:
    """Reason why a metric cannot be shown in the unit that the paper says; '' if it can."""
    described = metric_of(workload.papers[paper].metrics, metric)
    unit = unit_of(metric, workload.settings[setting].loss == "squared_error")
    if described is None or not unit or described.shown_in(unit) in ("", *shown_as(unit)):
        return ""
    return f"{setting} measures it in {unit}, which unit: {described.unit} does not show; add other_units: [{unit}]"


def _client_of(metric: str) -> tuple[str, str] | None:
    """('accuracy_client', '3') of accuracy_client_3, ('accuracy_client', 'k') of a column for all; None for others."""
    match = re.fullmatch(r"(\w+)_(\d+|k)", metric)
    return (match[1], match[2]) if match and match[1] in FAMILIES else None


def _of(metric: str) -> str:
    """Vector that a metric is a function of: accuracy, loss, ...; '' if of nothing in METRICS."""
    family, _ = _client_of(metric) or (metric, "")
    return (PER_CLIENT | METRICS).get(family, ("", ""))[1]
