"""The record (fairfl.recorded) and today's jobs: which of them it has, and to give it what they left."""

import base64
import datetime
import importlib
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairfl.experiments.workload import Workload
from fairfl.recorded import FOLDER, curves, sums
from fairfl.recorded.record import (
    INLINE,
    LARGEST,
    METRICS,
    SCALE,
    Entry,
    Origin,
    Record,
    setting_of,
    settings,
    without_code,
)
from fairfl.runtime import arithmetic, machine, records
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import canonical, digest, fingerprint
from fairfl.values import tables
from fairfl.values.differences import differences
from fairfl.workflow.graph import Graph, Job, with_numbers

# Kinds of jobs that take long or need data. Of partitions only those that an artifact reads: they are large.
RULES = ("train", "local_optimum", "surrogate", "tune", "timing", "partition")
# Kinds whose specs name the jobs that they read, and say nothing of what these compute from.
_NAMING = ("trials", "collect")
# Keys of JSON results that the spec or the record's origin has, or that say on which computer it was.
_ELSEWHERE = ("spec", "fingerprint", "host", "machine", "versions")


@dataclass(frozen=True)
class Stored:
    """A stored result that stands for a job of today."""

    entry: Entry
    same_code: bool  # whether today's code is that which computed it


class Recorded:
    """The record beside a graph. `only`: entries of another arithmetic than this do not count."""

    def __init__(
        self, graph: Graph, folder: Path = FOLDER, only: arithmetic.Arithmetic | None = None
    ) -> None:
        self.graph, self.folder = graph, folder
        self.only = only or {}
        self.records: dict[str, Record] = {}
        self._specs: dict[str, str] = {}
        self._otherwise: dict[str, bool] = {}

    def record(self, setting: str) -> Record:
        if setting not in self.records:
            self.records[setting] = Record(setting, self.folder)
        return self.records[setting]

    def stored(self, job: Job) -> Stored | None:
        """Find what stands for a job: an entry of the same code if there is any, else the newest."""
        fitting = self._fitting(job)
        code = fingerprint(job.parsed["code"]) if fitting else ""
        same = [entry for entry in fitting if entry.code == code]
        return Stored((same or fitting)[-1], bool(same)) if fitting else None

    def _fitting(self, job: Job) -> list[Entry]:
        """The entries of a job that computed from what it would today, code apart."""
        if job.rule not in RULES or job.name not in self.record(setting_of(job.name)).jobs:
            return []
        spec, read = without_code(job.parsed), self._inputs(job)
        return [
            entry
            for entry in self.record(setting_of(job.name)).jobs[job.name]
            if entry.spec == spec
            and entry.inputs == read
            and not arithmetic.differences(entry.arithmetic, self.only)
        ]

    def computed_from(self, name: str) -> str:
        """Fingerprint of what a job computes from, without code: of what it names, too, and of what these read."""
        if name not in self._specs:
            job = self.graph.job(name)
            spec = without_code(job.parsed)
            if job.rule in _NAMING:
                spec["named"] = {
                    read: [own, self._inputs(self.graph.job(read))]
                    for read, own in self._inputs(job).items()
                }
            self._specs[name] = fingerprint(spec)
        return self._specs[name]

    def _inputs(self, job: Job) -> dict[str, str]:
        return {name: self.computed_from(name) for name in job.inputs}

    def _input_otherwise(self, job: Job, made_from: str, content: str) -> bool:
        if any(entry.hash == content for entry in self._fitting(job)):  # it was read from here
            return False
        left = records.read(job.record)
        return left is None or left["fingerprint"] != made_from or self._made_otherwise(job, left)

    def _made_otherwise(self, job: Job, left: dict[str, Any]) -> bool:
        """True if a finished job, or anything it goes back to, computed from other than it would today, code apart."""
        if job.record not in self._otherwise:
            today, read = {self.graph.record(name): name for name in job.inputs}, left["inputs"]
            self._otherwise[job.record] = (
                without_code(left["spec"]) != without_code(job.parsed)
                or read.keys() != today.keys()
                or any(
                    self._input_otherwise(self.graph.job(today[path]), *read[path]) for path in read
                )
            )
        return self._otherwise[job.record]

    # -- to the record --------------------------------------------------------------------------
    def take(self, job: Job, commit: str) -> str:
        """Take a finished job into the record: "taken", or why it was not. `commit` has today's code.

        Raises FairflError if its results are damaged, or if the record has other numbers of equal spec, code, processor
        and arithmetic (fairfl.runtime.arithmetic).
        """
        left = records.read(job.record)
        if left is None or "recorded" in left or not any(map(os.path.exists, job.outputs)):
            return "not finished"  # or deleted; fairfl.workflow.rerun says of what
        if without_code(left["spec"]) != without_code(job.parsed):
            return "finished with another spec"
        if why := next(filter(None, (records.damage(path, left) for path in job.outputs)), ""):
            raise FairflError(f"{job.name}: {why}; nothing damaged is stored, run it again")
        if self._made_otherwise(job, left):
            return "finished with other inputs"
        entry, files, table = self._entry(job, left, commit)
        record = self.record(setting_of(job.name))
        entries = record.jobs.get(job.name, [])
        alike = [old for old in entries if old.spec == entry.spec and old.inputs == entry.inputs]
        for old in alike:
            if numbers(old) == numbers(entry):
                return "stored before"
            if _computed_alike(old, entry):
                raise FairflError(
                    f"{job.name}: the stored result has other numbers, "
                    "though spec, code, numerics and processor are equal "
                    f"({old.origin.processor}, {old.origin.date}): "
                    f"{', '.join(differing(old, entry))}; nothing is replaced"
                )
        record.add(job.name, entry, left["spec"]["code"], files, table)
        if alike:
            differ = ", ".join(differing(alike[-1], entry))
            return f"taken beside {len(alike)} with other code, arithmetic or processor: {differ} differ"
        return "taken"

    def _entry(
        self, job: Job, left: dict[str, Any], commit: str
    ) -> tuple[Entry, dict[str, bytes], Any]:
        results, spec = job.results, left["spec"]
        parts: dict[str, Any] = {"results": {}, "inline": {}, "outputs": {}}
        files: dict[str, bytes] = {}
        how: dict[str, Any] = {}
        table = None
        for path in job.outputs:
            below = path.removeprefix(results)
            if path.endswith(".json"):
                whole = read_json(path)
                how = how or whole
                parts["results"][below] = {
                    key: whole[key] for key in whole if key not in _ELSEWHERE
                }
            elif path.endswith(METRICS):
                table = tables.arrow(Path(path)).replace_schema_metadata()
                check_finite(job, table, diverged(job))
                parts["outputs"][below] = curves.digest(table)
            else:
                data = Path(path).read_bytes()
                if len(data) > LARGEST:
                    raise FairflError(
                        f"{path}: {len(data)} bytes; stored results take {LARGEST} at most"
                    )
                if len(data) <= INLINE:
                    parts["inline"][below] = base64.b64encode(data).decode()
                else:
                    parts["outputs"][below] = digest(data)
                    files[below] = data
        code = spec["code"]
        parts |= {
            "spec": without_code(spec),
            "code": fingerprint(code),
            "inputs": self._inputs(job),
        }
        commit = commit if job.parsed["code"] == code else ""
        entry = Entry.model_validate({"origin": origin(how, left, commit), "hash": "", **parts})
        return entry.model_copy(update={"hash": entry.content}), files, table


def _computed_alike(old: Entry, new: Entry) -> bool:
    """True if nothing is known to differ that may move the last bits of a result whose spec is the same."""
    same = (old.code, old.origin.processor) == (new.code, new.origin.processor)
    return same and not arithmetic.differences(old.arithmetic, new.arithmetic)


def read_json(path: str) -> dict[str, Any]:
    return json.loads(Path(path).read_bytes())


def diverged(job: Job) -> bool:
    return any(
        read_json(path).get("diverged") for path in job.outputs if path.endswith("summary.json")
    )


def check_finite(job: Job, table: Any, has_diverged: bool) -> None:
    """Raises FairflError if the last round has a loss that is not finite, though its client has samples."""
    last = table.to_pandas()
    last = last[last["round"] == last["round"].max()]
    for name in last.filter(regex="^loss_"):
        counted = last[last[name.replace("loss_", "samples_")] > 0]
        if not has_diverged and not counted[name].abs().lt(float("inf")).all():
            raise FairflError(
                f"{job.name}: {name} is not finite in the last round, but the run does not say it diverged"
            )


def numbers(entry: Entry) -> dict[str, Any]:
    """Return what came out, without how long it took."""
    keep = {
        name: {k: v for k, v in values.items() if k not in records.HOW}
        for name, values in entry.results.items()
    }
    return {"results": keep, "inline": entry.inline, "outputs": entry.outputs}


def differing(old: Entry, new: Entry) -> list[str]:
    """Say which numbers differ: 'results.runs/s/afl/default/seed0/summary.json.measures.comm_cost: 1.5 -> 2.0'."""
    texts = differences(numbers(old), numbers(new))
    return [text if len(text) < 120 else text[:117] + "..." for text in texts]


def origin(how: dict[str, Any], left: dict[str, Any], commit: str) -> Origin:
    """Read who, when, where: as the result says or, where it does not, the job's record."""
    device = how.get("device") or left.get("arithmetic", {}).get("device", "")
    seconds = float(how.get("seconds", 0.0))
    hours, on_cpu = seconds / 3600, device in ("cpu", "")
    return Origin(
        commit=commit,
        versions=how.get("versions", {}),
        processor=how.get("processor") or (machine.cpu_name() if on_cpu else device),
        device="cpu" if on_cpu else "cuda",
        seconds=seconds,
        core_hours=round(hours * how.get("threads", 1), 6) if on_cpu else 0.0,
        gpu_hours=0.0 if on_cpu else round(hours, 6),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )


def commit_of_today() -> str:
    """HEAD if it has the code that is here; "" if that is unknown."""
    commands = ["git", "rev-parse", "HEAD"], ["git", "status", "--porcelain", "--", "src"]
    try:
        head, changed = (
            subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
            for command in commands
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return "" if changed else head[:12]


def taken(recorded: Recorded, jobs: Iterable[Job]) -> Counter[str]:
    """Take all jobs of some that have finished; how many were, and why the others not. Raises FairflError naming
    refused ones, after all others have been taken."""
    sums.settle(recorded.folder)
    commit, counts, refused = commit_of_today(), Counter[str](), []
    for job in jobs:
        try:
            outcome = recorded.take(job, commit)
        except FairflError as error:
            refused.append(str(error))
            continue
        counts[outcome.partition(" beside ")[0]] += 1
        if outcome.startswith("taken beside"):
            print(f"{job.name}: {outcome}")
    for record in recorded.records.values():
        if record.changed:
            record.save()
    if refused:
        rest = f"\nStored: {counts['taken']}" if counts["taken"] else ""
        raise FairflError("\n".join(refused) + rest)
    return counts


def available(workload: Workload, folder: Path = FOLDER) -> frozenset[str]:
    """Jobs that the record has as they are today; of trainings those whose references it has too.

    Raises FairflError at another scale than the record's.
    """
    if workload.scale.scale != SCALE:
        raise FairflError(
            f"config.yaml: recorded: 'only' is for scale {SCALE}: add --config scale={SCALE}"
        )
    names = {
        name
        for setting in filter(workload.settings.__contains__, settings(folder))
        for name, entries in Record(setting, folder).jobs.items()
        if _spec_today(workload, name) in [entry.spec for entry in entries]
    }
    return frozenset(
        name
        for name in names
        if not name.startswith("train/") or _references(workload, name) <= names
    )


_NAMES = {
    "train": r"(?P<setting>[^/]+)/(?P<algorithm>[^/]+)/(?P<variant>[^/]+)/seed(?P<seed>\d+)",
    "local_optimum": r"(?P<setting>[^/]+)/seed(?P<seed>\d+)/client(?P<client>\d+)",
    "surrogate": r"(?P<setting>[^/]+)/seed(?P<seed>\d+)/cluster(?P<cluster>\d+)",
    "partition": r"(?P<setting>[^/]+)/seed(?P<seed>\d+)",
    "tune": r"(?P<setting>[^/]+)/(?P<algorithm>[^/]+)",
    "timing": r"(?P<setting>[^/]+)",
}


def _spec_today(workload: Workload, name: str) -> dict[str, Any] | None:
    """Return what a job would compute from, without code and files of the project; None if it is not one of today's."""
    rule, _, rest = name.partition("/")
    match = re.fullmatch(_NAMES[rule], rest)
    if match is None:
        return None
    words = match.groupdict()
    numbers: dict[str, int] = {
        key: int(words.pop(key)) for key in ("seed", "client", "cluster") if key in words
    }
    try:
        spec = importlib.import_module(f"fairfl.jobs.{rule}").spec(workload, **words)
    except (FairflError, KeyError):  # a variant or a setting that no artifact has any more
        return None
    return json.loads(canonical(with_numbers(spec, numbers)))


def _references(workload: Workload, name: str) -> set[str]:
    """The local optima and surrogates that a training's losses are compared with."""
    _, setting, *_, seed = name.split("/")
    declared = workload.settings[setting]
    clients = range(declared.clients if declared.local_optimum else 0)
    clusters = range(declared.surrogate.clusters if declared.surrogate else 0)
    optima = {f"local_optimum/{setting}/{seed}/client{k}" for k in clients}
    return optima | {f"surrogate/{setting}/{seed}/cluster{cluster}" for cluster in clusters}
