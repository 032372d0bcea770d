"""Seconds and memory of a job, from jobs that have run: stored ones (results/recorded/), else those finished here.

    seconds = rate x work
    work    = samples that pass through the model: rounds x epochs x samples of a round's clients, and of evaluations
              a third
    rate    = median of seconds / work over the nearest jobs of the rule: of the setting and algorithm; else, times
              the algorithm's share, of the setting; else of the same model; else of a model of that name
    share   = median over stored settings of the algorithm's rate, divided by that of all algorithms there

Models that have not been run have a rate in reference.json. Seconds are those of a core, or of a GPU, which a number of
cores stands for, by model (reference.json).
"""

import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any

from fairfl.experiments.workload import Workload
from fairfl.planning.reference import reference
from fairfl.recorded.record import FOLDER
from fairfl.runtime.fingerprint import canonical

RULES = ("train", "local_optimum", "surrogate", "timing")  # the others take seconds


@dataclass(frozen=True)
class TimedJob:
    """A job that has run."""

    rule: str
    setting: str
    algorithm: str  # '' of jobs other than trainings
    model: Mapping[str, Any]
    on_gpu: bool
    rate: float  # seconds of a core for each sample
    memory_mib: float


@dataclass(frozen=True)
class Estimate:
    """What a job takes if it runs."""

    core_seconds: float
    gpu_seconds: float
    memory_mib: float  # the most that one of the nearest jobs took; 0: not known
    basis: str  # measured: by jobs of its own setting and algorithm; scaled: by others


def estimate(name: str, spec: Mapping[str, Any], results: Path) -> Estimate | None:
    """The estimate of a job with this spec, by its name (train/fedfv_mnist/fedavg/default/seed0); None if nothing like
    it has run.

    `results`: folder of the scale, results/full, where jobs may have finished.
    """
    rule, setting, algorithm = identity(name)
    model = _model(spec)
    nearest, alike = _nearest(rule, setting, algorithm, results)
    basis, share = ("measured", 1.0) if nearest else ("scaled", _share(algorithm))
    nearest = nearest or alike or _of_model(rule, canonical(model))
    rate = _unmeasured(model) if model else 0.0
    if not nearest and rate is None:
        return None
    cpu, gpu = (_rate(nearest, on_gpu) if nearest else rate or 0.0 for on_gpu in (False, True))
    passed, memory = share * work(rule, spec), max((job.memory_mib for job in nearest), default=0.0)
    return Estimate(passed * cpu, passed * gpu / cores_of_gpu(model), memory, basis)


def estimate_rule(
    workload: Workload, rule: str, words: Sequence[str], results: Path
) -> Estimate | None:
    """The estimate of a job of a rule, by its setting and, of trainings, algorithm and variant."""
    spec = importlib.import_module(f"fairfl.jobs.{rule}").spec(workload, *words)
    return estimate("/".join([rule, *words]), spec, results)


def work(rule: str, spec: Mapping[str, Any]) -> float:
    """Samples that a job passes through its model, forward and back."""
    if rule == "timing":
        return spec["rounds"] * sum(map(_samples, spec["variants"]))
    if rule == "local_optimum":
        return spec["local_optimum"]["max_steps"] * _samples(spec)
    if rule == "surrogate":
        return spec["surrogate"]["epochs"] / spec["surrogate"]["clusters"] * _samples(spec)
    evaluated = sum(spec["split"][part] for part in spec["evaluated_parts"])
    epochs = spec["local_epochs"] * spec["clients_per_round"] / spec["clients"]
    each = spec["split"]["train"] * epochs + evaluated / 3 / spec["evaluate_every"]
    return spec["rounds"] * each * _samples(spec)


def cores_of_gpu(model: Mapping[str, Any]) -> float:
    """How many cores a GPU stands for."""
    cores = reference()["gpu"]["cores"]
    return cores.get(model.get("name"), cores["others"])


def _samples(spec: Mapping[str, Any]) -> float:
    """Of all clients together; of unknown data as many as drawn data have."""
    data = spec["data"]
    known = reference()["data"].get(data["name"], {"samples": 1000, "classes": 1})
    chosen = data.get("classes")
    share = len(chosen) / known["classes"] if isinstance(chosen, list) else 1.0
    return spec.get("samples") or known["samples"] * share


def identity(name: str) -> tuple[str, str, str]:
    """Rule, setting and, of trainings, algorithm of a job."""
    rule, setting, *rest = name.split("/")
    return rule, setting, rest[0] if rule == "train" else ""


def _model(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a timing, which has none where it counts metrics alone, that of the first variant."""
    return (
        spec["model"]
        if "model" in spec
        else next((variant["model"] for variant in spec["variants"]), {})
    )


def _rate(jobs: Iterable[TimedJob], on_gpu: bool) -> float:
    """Seconds of a core for each sample, by jobs on such a device if there are any."""
    same = [job.rate for job in jobs if job.on_gpu == on_gpu]
    return median(same or [job.rate for job in jobs])


# -- jobs that have run -----------------------------------------------------------------------------
@cache
def _nearest(rule: str, setting: str, algorithm: str, results: Path) -> tuple[list[TimedJob], ...]:
    """Jobs of the setting and algorithm, and of the setting: stored ones, and trainings of algorithms that are not
    stored and have finished here."""
    stored = _stored(setting)
    known = {job.algorithm for job in stored}
    files = results.glob(f"runs/{setting}/*/*/seed*/summary.json")
    jobs = stored + [
        _timed(f"train/{setting}/{file.parts[-4]}", how["spec"], how, how.get("seconds", 0.0))
        for file in files
        if file.parts[-4] not in known and (how := _read(file)).get("spec")
    ]
    alike = [job for job in jobs if job.rule == rule]
    return [job for job in alike if job.algorithm == algorithm], alike


@cache
def _stored(setting: str) -> list[TimedJob]:
    jobs = _read(FOLDER / setting / "jobs.json").get("jobs", {})
    return [
        _timed(name, entry["spec"], how, entry["origin"]["seconds"])
        for name, entries in jobs.items()
        if identity(name)[0] in RULES
        for entry in entries
        for how in list(entry["results"].values())[:1]
    ]


@cache
def _all_stored() -> list[TimedJob]:
    return [job for path in sorted(FOLDER.glob("*/jobs.json")) for job in _stored(path.parent.name)]


def _timed(name: str, spec: Mapping[str, Any], how: Mapping[str, Any], seconds: float) -> TimedJob:
    model, on_gpu = _model(spec), how.get("device", "cpu") != "cpu"
    cores = cores_of_gpu(model) if on_gpu else how.get("threads", 1)
    rule, setting, algorithm = identity(name)
    rate = seconds * cores / max(1.0, work(rule, spec))
    memory = how.get("peak_memory_mib", 0.0)
    return TimedJob(rule, setting, algorithm, model, on_gpu, rate, memory)


@cache
def _of_model(rule: str, text: str) -> list[TimedJob]:
    """Stored jobs of the same model, given as JSON; if there are none and reference.json has no rate, of its name."""
    model = json.loads(text)
    jobs = [job for job in _all_stored() if job.rule == rule]
    same = [job for job in jobs if job.model == model]
    if same or _unmeasured(model):
        return same
    return [job for job in jobs if job.model["name"] == model.get("name")]


def _unmeasured(model: Mapping[str, Any]) -> float | None:
    """The rate of a model that has not been run: that of the first entry whose keys are the model's."""
    rates = reference()["unmeasured"]
    fitting = (one for one in rates if one["model"].items() <= model.items())
    return next((one["rate"] for one in fitting), None)


@cache
def _share(algorithm: str) -> float:
    """How many times as long as the others of a setting its trainings take."""
    shares = []
    for _, jobs in groupby(_all_stored(), attrgetter("setting")):
        rates: dict[str, list[float]] = {}
        for job in jobs:
            if job.rule == "train":
                rates.setdefault(job.algorithm, []).append(job.rate)
        if algorithm in rates:
            shares.append(median(rates[algorithm]) / median(map(median, rates.values())))
    return median(shares or [1.0])


def _read(path: Path) -> dict[str, Any]:
    """A JSON file; {} if there is none, or a damaged one: others say so."""
    try:
        whole = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return whole if isinstance(whole, dict) else {}
