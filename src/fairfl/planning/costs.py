"""Hours of jobs: as they were measured, else by what they compute.

    hours = estimate x departure x level
    estimate    its operations (fairfl.planning.operations), over the speed of a matrix product here times the share of
                it that models of its kind reach, and fixed costs of steps, rounds and so on (reference.json)
    departure   how an algorithm's measured runs depart from their estimates, beside those of other algorithms in the
                same setting: the median over settings
    level       what measured runs of the setting took over estimate x departure; without any, those of settings with
                such models, which count by their hours; without any, 1: then the hours are only estimated

Measured seconds are those of a clock on the wall: beside other work a run takes longer, never shorter. So of several
numbers a low one counts: the lowest decile is the level, and a variant takes what its fastest seed took, but not much
more than others of its setting did. On processors whose efficiencies reference.json knows a level is hardly above 1.
"""

import json
import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from fairfl.experiments.variant import Run
from fairfl.planning import operations, speed
from fairfl.planning.data import facts
from fairfl.planning.operations import NOTHING, Operations
from fairfl.planning.reference import reference
from fairfl.runtime.errors import FairflError, PluginError
from fairfl.runtime.machine import cpu_name
from fairfl.workflow.environment import gpus_per_job
from fairfl.workflow.graph import Job
from fairfl.workflow.recorded import Recorded
from fairfl.workflow.rerun import Rerun

LONG = ("train", "local_optimum", "surrogate", "timing")  # rules whose jobs are counted; the others take seconds
DENSE = ("mlp", "logistic_regression", "linear_regression")  # run as stacks of clients
Known = Literal["measured", "scaled", "estimated", "unknown"]
TRUSTED = 1.1  # the highest level on processors whose efficiencies are known: what is above is waiting for a core
MANY, MORE = 10, 1.25  # of so many measured runs of a setting none takes so many times what the others say
_MIB = 2**20
Kind = tuple[str, str, str, str]  # rule, setting; of trainings algorithm and folder of the variant too


@dataclass(frozen=True)
class Cost:
    """Of one job. `known`: measured, scaled from measured runs, estimated alone, or unknown: then it counts nothing."""

    core_hours: float
    gpu_hours: float
    memory_mib: float
    disk_mib: float
    known: Known


@dataclass(frozen=True)
class Measured:
    """What one job took once."""

    core_hours: float  # of a CPU like this one; 0 if it ran on a GPU
    gpu_hours: float
    memory_mib: float


class Costs:
    """Of the jobs of a graph. Nothing is imported or measured before a job needs an estimate."""

    def __init__(self, rerun: Rerun, jobs: Iterable[Job]) -> None:
        """`jobs` are those that measurements are taken from, if they have finished here or are recorded."""
        self.rerun, self.graph, self.workload = rerun, rerun.graph, rerun.graph.workload
        self.recorded = rerun.recorded or Recorded(self.graph)
        self.measured: dict[Kind, list[Measured]] = {}
        self._estimates: dict[Kind, tuple[float, float] | None] = {}
        self._corrections: dict[tuple[tuple[str, ...], str], float | None] = {}
        for job in jobs:
            if job.rule in LONG and (measured := self._measured(job)) is not None:
                self.measured.setdefault(kind_of(job.name), []).append(measured)

    def hours(self, job: Job) -> float | None:
        """Core-hours of a job if it runs, GPU-hours where jobs run on a GPU; None if nobody knows."""
        if job.rule not in LONG:
            return 0.0
        kind = kind_of(job.name)
        return None if self.known(kind) == "unknown" else self._hours(kind, self.on)

    def of(self, job: Job) -> Cost:
        """What a long job takes if it runs."""
        kind = kind_of(job.name)
        memory = max((one.memory_mib for one in self.measured.get(kind, ())), default=0.0) or self._memory(kind)
        hours = self._hours(kind, "core_hours"), self._hours(kind, "gpu_hours")
        return Cost(*hours, memory, self._disk(kind), self.known(kind))

    # -- measured -----------------------------------------------------------------------------
    def _measured(self, job: Job) -> Measured | None:
        """What the job took, if it has finished here or is in the record."""
        if not self.rerun.verdict(job.name).reason:
            path = next((path for path in job.outputs if path.endswith(".json")), None)
            how = _read(path) if path else {}
        elif (entry := self.recorded.entry(job)) is not None:
            how = next(iter(entry.results.values()), {})
            how = {"processor": entry.origin.processor, **how, "seconds": entry.origin.seconds}
        else:
            return None
        seconds, on_gpu = how.get("seconds", 0.0), how.get("device", "cpu") != "cpu"
        if not isinstance(seconds, float | int) or not seconds:
            return None
        hours, rates = seconds / 3600, reference()["processors"]
        there, here = rates.get(how.get("processor")), rates.get(cpu_name())
        scale = there / here if there and here else 1.0
        return Measured(
            0.0 if on_gpu else hours * how.get("threads", 1) * scale,
            hours if on_gpu else 0.0,
            how.get("peak_memory_mib", 0.0),
        )

    @cached_property
    def on(self) -> str:
        """core_hours or gpu_hours: what a budget is of."""
        return "gpu_hours" if gpus_per_job(self.workload.config) else "core_hours"

    def known(self, kind: Kind) -> Known:
        """How the hours here are known."""
        if any(getattr(one, self.on) for one in self.measured.get(kind, ())):
            return "measured"
        if self.estimate(kind) is None:
            return "unknown"
        return "estimated" if self.correction(kind, self.on) is None else "scaled"

    def _hours(self, kind: Kind, on: str) -> float:
        values = [getattr(one, on) for one in self.measured.get(kind, ()) if getattr(one, on)]
        if values and self._runs_of(kind[1]) < MANY and not self.trusted:
            return min(values)
        estimate = self.estimate(kind)
        scaled = 0.0 if estimate is None else estimate[on == "gpu_hours"] * (self.correction(kind, on) or 1.0)
        return min([*values, MORE * scaled]) if values and scaled else min(values, default=scaled)

    def _runs_of(self, setting: str) -> int:
        """Measured trainings."""
        return sum(kind[:2] == ("train", setting) for kind in self.measured)

    # -- estimated ------------------------------------------------------------------------------
    def estimate(self, kind: Kind) -> tuple[float, float] | None:
        """Core-hours and GPU-hours from operations alone; None if they cannot be counted."""
        if kind not in self._estimates:
            try:
                counted = self._operations(kind)
                self._estimates[kind] = self._seconds(kind, counted)
            except PluginError:
                raise
            except (FairflError, ValueError, ImportError):  # data or a model of which nothing is known here
                self._estimates[kind] = None
        return self._estimates[kind]

    def correction(self, kind: Kind, on: str) -> float | None:
        """Measured over estimated, from what is closest to a job; None if nothing is."""
        key = kind[:3], on
        if key not in self._corrections:
            self._corrections[key] = self._correction(kind, on)
        return self._corrections[key]

    def _correction(self, kind: Kind, on: str) -> float | None:
        rule, setting, algorithm, _ = kind
        ratios = self._ratios(on)
        if rule != "train" and (alike := [r for k, r in ratios.items() if k[0] == rule and self._alike(k, kind)]):
            return _low(alike)
        levels, departures = _levels_and_departures({k: r for k, r in ratios.items() if k[0] == "train"})
        departure = departures.get(algorithm, 1.0)
        if self.trusted and on == "core_hours":
            levels = {name: min(level, TRUSTED) for name, level in levels.items()}
        if setting in levels:
            return levels[setting] * departure
        near = {name: level for name, level in levels.items() if self._model(name) == self._model(setting)}
        spent = {name: self._hours_measured(name, on) for name in near}
        return _weighted_median([(near[name], spent[name]) for name in near]) * departure if near else None

    def _hours_measured(self, setting: str, on: str) -> float:
        """Of its trainings, all together."""
        runs = (run for kind, measured in self.measured.items() if kind[:2] == ("train", setting) for run in measured)
        return math.fsum(getattr(run, on) for run in runs)

    @cached_property
    def trusted(self) -> bool:
        """True if the efficiencies of reference.json were measured on such a processor."""
        return cpu_name() in reference()["cpu"]["processors"]

    def _alike(self, one: Kind, other: Kind) -> bool:
        return self._model(one[1]) == self._model(other[1])

    def _ratios(self, on: str) -> dict[Kind, float]:
        """Of everything that was measured."""
        ratios = {}
        for kind, measured in self.measured.items():
            values = [getattr(one, on) for one in measured if getattr(one, on)]
            estimate = self.estimate(kind) if values else None
            if estimate and (expected := estimate[on == "gpu_hours"]):
                ratios[kind] = min(values) / expected
        return ratios

    def _model(self, setting: str) -> str:
        """The kind of models, as reference.json names them."""
        declared = self.workload.settings[setting]
        stacked = declared.model.name in DENSE and declared.optimizer == "sgd"
        return "dense" if stacked and self.workload.config.backend != "sequential" else declared.model.name

    def _operations(self, kind: Kind) -> Operations:
        rule, setting = kind[:2]
        if rule == "local_optimum":
            return operations.of_local_optimum(self.workload, setting)
        if rule == "surrogate":
            return operations.of_surrogate(self.workload, setting)
        if rule == "timing":
            timing, total = self.workload.settings[setting].timing, NOTHING
            rounds = self.workload.settings[setting].rounds
            for variant in self.workload.timed_variants.get(setting, ()):
                once = operations.of_run(self.workload, Run(setting, variant, 0)) * (1 / rounds)
                total = total + once * (timing.rounds if timing else 0)
            return total
        run = self.workload.run(setting, kind[2], kind[3], self.workload.settings[setting].seeds[0])
        return operations.of_run(self.workload, run)

    def _seconds(self, kind: Kind, counted: Operations) -> tuple[float, float]:
        """Hours on a core and on a GPU."""
        model = self._model(kind[1])
        cpu, gpu = reference()["cpu"], reference()["gpu"]
        rates = cpu["kinds"].get(model, cpu["kinds"]["other"])
        flops = counted.train / rates["train"] + counted.forward / rates["forward"]
        core = flops / (speed.gflops() * 1e9) + cpu["start"]
        core += counted.trained_numbers * rates["train_number"] + counted.predicted_numbers * rates["forward_number"]
        core += counted.steps * rates["step"] + counted.updated * rates["update"]
        core += counted.rounds * rates["round"] + counted.evaluations * rates["evaluation"]
        share = gpu["kinds"].get(model, gpu["kinds"]["other"])
        card = (counted.train + counted.forward) / (gpu["gflops"] * 1e9 * share) + gpu["start"]
        card += counted.steps * gpu["step"] + counted.rounds * gpu["round"]
        return core / 3600, card / 3600

    # -- memory and disk --------------------------------------------------------------------------
    def _memory(self, kind: Kind) -> float:
        """MiB: torch, the samples as float32, models of a round and what a batch leaves for its gradient, roughly."""
        setting = self.workload.settings[kind[1]]
        try:
            known = facts(self.workload, kind[1])
            cost = operations.sample(setting, known)
        except (FairflError, ValueError, ImportError):
            return 0.0
        models = setting.clients_per_round if kind[0] == "train" else 1
        samples = min(known.samples, setting.samples or known.samples)
        return 400 + 4 * (samples * known.numbers * 1.5 + cost.parameters * (3 * models + 6)) / _MIB

    def _disk(self, kind: Kind) -> float:
        """MiB of what a training leaves: per evaluated round, client and part four numbers, compressed; kept models."""
        if kind[0] != "train":
            return 0.01
        setting = self.workload.settings[kind[1]]
        evaluations = setting.rounds / setting.evaluate_every + 1
        curves = evaluations * setting.clients * len(setting.evaluated_parts) * 16
        return 0.02 + curves / _MIB


def _levels_and_departures(ratios: dict[Kind, float]) -> tuple[dict[str, float], dict[str, float]]:
    """By setting and by algorithm, from measured over estimated hours of trainings."""
    settings = {name: [r for k, r in ratios.items() if k[1] == name] for name in {k[1] for k in ratios}}
    places: dict[tuple[str, str], list[float]] = {}
    for (_, setting, algorithm, _), ratio in ratios.items():
        places.setdefault((algorithm, setting), []).append(ratio / statistics.median(settings[setting]))
    beside: dict[str, list[float]] = {}
    for (algorithm, _), values in places.items():
        beside.setdefault(algorithm, []).append(statistics.median(values))
    departures = {algorithm: statistics.median(values) for algorithm, values in beside.items()}
    levels = {name: _low([r / departures[k[2]] for k, r in ratios.items() if k[1] == name]) for name in settings}
    return levels, departures


def _weighted_median(pairs: list[tuple[float, float]]) -> float:
    """Of (value, weight): the first value at which half of the weight is reached."""
    total, sums = math.fsum(weight for _, weight in pairs), 0.0
    for value, weight in sorted(pairs):
        sums += weight
        if sums >= total / 2:
            return value
    raise ValueError("no values")


def _low(values: list[float]) -> float:
    """The lowest decile; of fewer than ten the lowest."""
    return sorted(values)[len(values) // 10]


def expected(rerun: Rerun, names: Iterable[str]) -> dict[str, float]:
    """Seconds that such jobs took before, here or in the record, of each long job among these names.

    Of the same variant in the same setting, else of others there; nothing is counted or estimated.
    """
    kinds = {name: kind_of(name) for name in names if name.partition("/")[0] in LONG}
    wanted = {kind[:2] for kind in kinds.values()}
    alike = [
        job
        for job in (rerun.needed(rerun.graph.everything()) if wanted else [])
        if job.rule in LONG and kind_of(job.name)[:2] in wanted
        if rerun.recorded or not rerun.verdict(job.name).reason
    ]
    measured = Costs(rerun, alike).measured
    by_setting: dict[tuple[str, ...], list[Measured]] = {}
    for kind, found in measured.items():
        by_setting.setdefault(kind[:2], []).extend(found)
    seconds = {}
    for name, kind in kinds.items():
        if known := measured.get(kind) or by_setting.get(kind[:2], []):
            threads = rerun.graph.workload.config.threads
            seconds[name] = 3600 * statistics.fmean(one.core_hours / threads or one.gpu_hours for one in known)
    return seconds


def kind_of(name: str) -> Kind:
    """What a job's hours depend on: not on its seed, nor on its client or cluster."""
    rule, setting, *rest = name.split("/")
    algorithm, variant = rest[:2] if rule == "train" else ("", "")
    return rule, setting, algorithm, variant


def _read(path: str) -> dict[str, Any]:
    try:
        whole = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return whole if isinstance(whole, dict) else {}
