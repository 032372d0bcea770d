"""Hours of jobs: measured ones of the setting, else one formula.

    measured    the fastest job of the variant that finished here or is recorded, scaled by the speeds of both
                processors where reference.json knows them; without one, the median over the setting's variants
    estimated   seconds = start + operations / rate + numbers x number + steps x step + updated parameters x update,
                with the rates of reference.json (fairfl.planning.operations counts)

Measured seconds are those of a clock on the wall: beside other work a run takes longer, never shorter.
"""

import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from fairfl.planning import operations
from fairfl.planning.data import facts
from fairfl.planning.operations import Operations
from fairfl.planning.reference import reference
from fairfl.runtime.errors import FairflError, PluginError
from fairfl.runtime.machine import cpu_name
from fairfl.workflow.environment import gpus_per_job
from fairfl.workflow.graph import Job
from fairfl.workflow.recorded import Recorded
from fairfl.workflow.rerun import Rerun

LONG = (
    "train",
    "local_optimum",
    "surrogate",
    "timing",
)  # rules whose jobs are counted; the others take seconds
DENSE = ("mlp", "logistic_regression", "linear_regression")  # run as stacks of clients
Known = Literal["measured", "estimated", "unknown"]
_MIB = 2**20
Kind = tuple[
    str, str, str, str
]  # rule, setting; of trainings algorithm and folder of the variant too


@dataclass(frozen=True)
class Cost:
    """What one job takes. `known`: measured, estimated, or unknown: then it counts nothing."""

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
    """Costs of the jobs of a graph. Nothing is imported or counted before a job needs an estimate."""

    def __init__(self, rerun: Rerun, jobs: Iterable[Job]) -> None:
        """`jobs` are those that measurements are taken from, if they have finished here or are recorded."""
        self.rerun, self.graph, self.workload = rerun, rerun.graph, rerun.graph.workload
        self.recorded = rerun.recorded or Recorded(self.graph)
        self.measured: dict[Kind, list[Measured]] = {}
        self._estimates: dict[tuple[str, str], tuple[float, float] | None] = {}
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
        memory = max(
            (one.memory_mib for one in self.measured.get(kind, ())), default=0.0
        ) or self._memory(kind)
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
        if self._measured_hours(kind, self.on) is not None:
            return "measured"
        return "unknown" if self.estimate(kind) is None else "estimated"

    def _hours(self, kind: Kind, on: str) -> float:
        if (measured := self._measured_hours(kind, on)) is not None:
            return measured
        estimate = self.estimate(kind)
        return 0.0 if estimate is None else estimate[on == "gpu_hours"]

    def _measured_hours(self, kind: Kind, on: str) -> float | None:
        """The fastest job of a kind; without any, the median over other variants of the setting; None without those."""
        if own := [getattr(one, on) for one in self.measured.get(kind, ()) if getattr(one, on)]:
            return min(own)
        others = [
            min(hours)
            for other, jobs in self.measured.items()
            if other[:2] == kind[:2]
            and (hours := [getattr(one, on) for one in jobs if getattr(one, on)])
        ]
        return statistics.median(others) if others else None

    # -- estimated ------------------------------------------------------------------------------
    def estimate(self, kind: Kind) -> tuple[float, float] | None:
        """Core-hours and GPU-hours from operations, the same for all algorithms; None if they cannot be counted."""
        if kind[:2] not in self._estimates:
            try:
                self._estimates[kind[:2]] = self._seconds(kind[1], self._operations(*kind[:2]))
            except PluginError:
                raise
            except (
                FairflError,
                ValueError,
                ImportError,
            ):  # data or a model of which nothing is known here
                self._estimates[kind[:2]] = None
        return self._estimates[kind[:2]]

    def _operations(self, rule: str, setting: str) -> list[Operations]:
        """Operations of a job, of each training in it."""
        if rule == "local_optimum":
            return [operations.of_local_optimum(self.workload, setting)]
        if rule == "surrogate":
            return [operations.of_surrogate(self.workload, setting)]
        if rule == "timing":
            timing = self.workload.settings[setting].timing
            rounds = timing.rounds if timing else 0
            once = operations.of_training(self.workload, setting, rounds)
            return [once] * len(self.workload.timed_variants.get(setting, ()))
        return [operations.of_training(self.workload, setting)]

    def _seconds(self, setting: str, counted: list[Operations]) -> tuple[float, float]:
        """Hours on a core and on a GPU."""
        hours = []
        for rates in (reference()["cpu"], reference()["gpu"]):
            rate = 1e9 * rates["gflops"]["dense" if self._stacked(setting) else "other"]
            seconds = rates["start"]
            for part in counted:
                seconds += part.flops / rate + part.numbers * rates["number"]
                seconds += part.steps * rates["step"] + part.updated * rates["update"]
            hours.append(seconds / 3600)
        return hours[0], hours[1]

    def _stacked(self, setting: str) -> bool:
        """True if clients train as one stack of dense layers."""
        declared = self.workload.settings[setting]
        stacked = declared.model.name in DENSE and declared.optimizer == "sgd"
        return stacked and self.workload.config.backend != "sequential"

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
