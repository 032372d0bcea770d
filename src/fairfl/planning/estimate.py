"""Seconds and memory of a job, from jobs that have run: stored ones (results/recorded/), else those finished here.

    seconds = rate x work
    work    = samples that pass through the model: rounds x epochs x samples of a round's clients, and of evaluations
              a third; a local optimum takes as many epochs as stored ones with the same stopping rule
    rate    = median of seconds / work over the nearest jobs of the rule: of the setting and algorithm, else of the
              setting, else of the same model

Models that no stored job has trained have a rate in reference.json. Seconds are a core's, or of a GPU, which a
number of cores stands for, by model (reference.json).
"""

import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from statistics import median
from typing import Any

from fairfl.experiments.workload import Workload
from fairfl.planning.reference import reference
from fairfl.recorded import FOLDER
from fairfl.runtime import notes
from fairfl.runtime.fingerprint import canonical

RULES = ("train", "local_optimum", "surrogate", "timing")  # the others take seconds


@dataclass(frozen=True)
class TimedJob:
    """A job that has run."""

    rule: str
    algorithm: str  # '' of jobs other than trainings
    spec: Mapping[str, Any]
    core_seconds: float
    memory_mib: float
    epochs: int | None  # that a local optimum took

    @cached_property
    def rate(self) -> float:
        """Seconds of a core for each sample."""
        return self.core_seconds / max(1.0, count_samples(self.rule, self.spec))


@dataclass(frozen=True)
class Estimate:
    """Seconds and memory of a job if it runs."""

    core_seconds: float
    gpu_seconds: float
    memory_mib: float  # the most that one of the nearest jobs took; 0: not known
    basis: str  # measured: by jobs of its own setting and algorithm; scaled: by others


def estimate(
    rule: str,
    words: Sequence[str],
    spec: Mapping[str, Any],
    training: Mapping[str, Any],
    results: Path,
) -> Estimate | None:
    """The estimate of a job with this spec; None if nothing like it has run.

    `words`: its setting and, of trainings, algorithm and variant. `training`: what the setting's trainings depend on;
    the spec of a local optimum lacks the numbers of samples and clients. `results`: folder of the scale,
    results/full, where jobs may have finished.
    """
    setting, algorithm, *_ = *words, ""
    model = _model(spec)
    of_setting = [job for job in _jobs_of(setting, results) if job.rule == rule]
    same = [job for job in of_setting if job.algorithm == algorithm]
    nearest = same or of_setting or _jobs_with(rule, canonical(model))
    rate = median(job.rate for job in nearest) if nearest else _reference_rate(model)
    if rate is None:
        return None
    seconds = rate * count_samples(rule, spec if nearest else {**training, **spec})
    return Estimate(
        seconds,
        seconds / count_gpu_cores(model),
        max((job.memory_mib for job in nearest), default=0.0),
        "measured" if same else "scaled",
    )


def estimate_rule(workload: Workload, results: Path, rule: str, *words: str) -> Estimate | None:
    """The estimate of a job of a rule, by its setting and, of trainings, algorithm and variant."""
    spec = importlib.import_module(f"fairfl.jobs.{rule}").spec(workload, *words)
    return estimate(rule, words, spec, workload.settings[words[0]].training(), results)


def count_samples(rule: str, spec: Mapping[str, Any]) -> float:
    """Samples that a job passes through its model, forward and back."""
    if rule == "timing":
        return spec["rounds"] * sum(map(_data_samples, spec["variants"]))
    if rule == "local_optimum":
        epochs = _usual_epochs(canonical(spec["local_optimum"]))
        return epochs * _data_samples(spec) / spec.get("clients", 1)
    if rule == "surrogate":
        return spec["surrogate"]["epochs"] / spec["surrogate"]["clusters"] * _data_samples(spec)
    evaluated = sum(spec["split"][part] for part in spec["evaluated_parts"])
    epochs = spec["local_epochs"] * spec["clients_per_round"] / spec["clients"]
    each = spec["split"]["train"] * epochs + evaluated / 3 / spec["evaluate_every"]
    return spec["rounds"] * each * _data_samples(spec)


@cache
def _usual_epochs(stopping_rule: str) -> float:
    """Median epochs of the stored local optima with a stopping rule, given as JSON; its cap without any."""
    rule = json.loads(stopping_rule)
    optima = (job for job in _stored() if job.spec.get("local_optimum") == rule)
    return median([job.epochs for job in optima if job.epochs] or [rule["max_steps"]])


def count_gpu_cores(model: Mapping[str, Any]) -> float:
    """Number of cores that a GPU stands for."""
    cores = reference()["gpu"]["cores"]
    return cores.get(model.get("name"), cores["others"])


def _data_samples(spec: Mapping[str, Any]) -> float:
    """Samples of all clients together; of unknown data as many as drawn data have."""
    data = spec["data"]
    facts = reference()["data"].get(data["name"], {"samples": 1000, "classes": 1})
    chosen = data.get("classes")
    share = len(chosen) / facts["classes"] if isinstance(chosen, list) else 1.0
    return spec.get("samples") or facts["samples"] * share


def parse_name(name: str) -> tuple[str, str]:
    """Rule and, of trainings, algorithm of a job."""
    rule, _, *rest = name.split("/")
    return rule, rest[0] if rule == "train" else ""


def _model(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Model of a job; of a timing, which has none where it counts metrics alone, its first variant's."""
    return (
        spec["model"] if "model" in spec else next((one["model"] for one in spec["variants"]), {})
    )


def _reference_rate(model: Mapping[str, Any]) -> float | None:
    """The rate of the first entry whose keys are the model's."""
    entries = (one for one in reference()["rates"] if one["model"].items() <= model.items())
    return next((one["rate"] for one in entries), None if model else 0.0)


# -- jobs that have run -----------------------------------------------------------------------------
@cache
def _jobs_of(setting: str, results: Path) -> list[TimedJob]:
    """Stored jobs of a setting, and trainings of algorithms that are not stored and have finished here."""
    stored = _stored(setting)
    algorithms = {job.algorithm for job in stored}
    files = results.glob(f"runs/{setting}/*/*/seed*/summary.json")
    return stored + [
        _timed(f"train/{setting}/{file.parts[-4]}", how["spec"], how, how.get("seconds", 0.0))
        for file in files
        if file.parts[-4] not in algorithms and (how := notes.read(file)).get("spec")
    ]


@cache
def _jobs_with(rule: str, model: str) -> list[TimedJob]:
    """Stored jobs of the same model, given as JSON."""
    same = json.loads(model)
    return [job for job in _stored() if job.rule == rule and _model(job.spec) == same]


@cache
def _stored(setting: str = "*") -> list[TimedJob]:
    return [
        _timed(name, entry["spec"], how, entry["origin"]["seconds"])
        for path in sorted(FOLDER.glob(f"{setting}/jobs.json"))
        for name, entries in notes.read(path).get("jobs", {}).items()
        if parse_name(name)[0] in RULES
        for entry in entries
        for how in list(entry["results"].values())[:1]
    ]


def _timed(name: str, spec: Mapping[str, Any], how: Mapping[str, Any], seconds: float) -> TimedJob:
    is_on_gpu = how.get("device", "cpu") != "cpu"
    cores = count_gpu_cores(_model(spec)) if is_on_gpu else how.get("threads", 1)
    rule, algorithm = parse_name(name)
    memory = how.get("peak_memory_mib", 0.0)
    return TimedJob(rule, algorithm, spec, seconds * cores, memory, how.get("epochs"))
