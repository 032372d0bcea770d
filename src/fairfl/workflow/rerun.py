"""Which jobs must run, and why, in words: decided by the records of their results, not by times of files.

A job runs if it has no record, if its spec has changed, if a file that it left is missing or not as it left it, or if
what it read has changed: was made from another spec, came out with other content, or will be made from another spec
now. A job that only repairs a file ought to leave the same content again, so what reads it does not run; should it come
out different, fairfl.workflow.invocation plans again.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairfl.runtime import arithmetic, kept, records, result_files
from fairfl.runtime.differences import differences
from fairfl.runtime.errors import FairflError
from fairfl.runtime.hashes import Intact
from fairfl.workflow.graph import Graph, Job

if TYPE_CHECKING:
    from fairfl.workflow.recorded import Recorded


RESTORED = "is stored"
KEPT = "was computed before and kept"


@dataclass(frozen=True)
class RerunDecision:
    """Why a job must run, "" if it need not, and whether its results may come out different."""

    reason: str = ""
    different: bool = False


class Rerun:
    """Decides on jobs, each once. `here`: the arithmetic that jobs would have; `anew`: results of another are made
    again.

    A job whose result is kept (fairfl.runtime.kept) gets that back. One that never finished here, or only came from
    the record, comes from there if `recorded` has it.
    """

    def __init__(
        self,
        graph: Graph,
        here: arithmetic.Arithmetic | None = None,
        anew: bool = False,
        say: Callable[[str], None] | None = None,
        recorded: "Recorded | None" = None,
    ) -> None:
        self.graph, self.here, self.anew = graph, here or {}, anew
        self.recorded = recorded
        self.restored: list[dict[str, Any]] = []  # those of the jobs that are needed
        self.restorations: dict[
            str, dict[str, Any]
        ] = {}  # of jobs that come from the record: what fairfl.jobs.restore needs
        self.say = say or (lambda _: None)
        self.others: Counter[str] = (
            Counter()
        )  # 'threads 2, here it is 1' -> results that are kept all the same
        self.kept: dict[
            str, kept.Kept
        ] = {}  # of jobs that get back what was kept; these are among the restorations
        self.intact = Intact()
        self._above: dict[str, list[str]] = {}
        self._verdicts: dict[str, RerunDecision] = {}
        self._records: dict[str, dict[str, Any] | None] = {}
        self._contents: dict[str, str] = {}

    def verdict(self, name: str) -> RerunDecision:
        """Whether the job of this name must run."""
        if name not in self._verdicts:
            job, left = self.graph.job(name), self.record(name)
            verdict = self._decided(job)
            came_from = left.get("recorded") if left else None
            asks = came_from or (left is None and verdict.reason)  # what was trained here stands
            known = self.recorded.entry(job) if self.recorded and asks else None
            if known and not verdict.reason and came_from != known.hash:
                verdict = RerunDecision("the stored result has changed", different=True)
            if verdict.reason and (result := self._kept(job, known.hash if known else "")):
                self.kept[name] = result
                self.restorations[name] = {
                    "job": name, "record": job.record, "outputs": list(job.outputs), "kept": str(result.folder)
                }  # fmt: skip
                verdict = RerunDecision(KEPT)
            elif self.recorded and known and verdict.reason:
                self.restorations[name] = self.recorded.restoration(job, known)
                verdict = RerunDecision(RESTORED, different=left is not None)
            self._verdicts[name] = verdict
        return self._verdicts[name]

    def is_leaf(self, name: str) -> bool:
        """True if what a job would read is not needed: its results come from the record, or came from there."""
        verdict = self.verdict(name)
        if name in self.kept:  # what it was computed from is brought to today's state as well
            return False
        return name in self.restorations or (
            not verdict.reason and bool((self.record(name) or {}).get("recorded"))
        )

    def needed(self, targets: Iterable[str]) -> list[Job]:
        """The jobs that targets stand for, and all that they need."""
        return list(self.graph.below(targets, self.is_leaf))

    def record(self, name: str) -> dict[str, Any] | None:
        if name not in self._records:
            self._records[name] = records.read(self.graph.record(name))
        return self._records[name]

    def _content(self, name: str) -> str:
        """Hash of what the job has left, or gets back; "" if it has no record."""
        if name not in self._contents:
            record = self.kept[name].record if name in self.kept else self.record(name)
            self._contents[name] = "" if record is None else records.results_hash(record)
        return self._contents[name]

    def nearest(self, name: str) -> list[str]:
        """The jobs that must run of those that a job needs, without what these need in turn."""
        if name not in self._above:
            found: dict[str, None] = {}
            for before in () if self.is_leaf(name) else self.graph.job(name).inputs:
                found |= dict.fromkeys(
                    [before] if self.verdict(before).reason else self.nearest(before)
                )
            self._above[name] = list(found)
        return self._above[name]

    def _decided(self, job: Job) -> RerunDecision:
        record = self.record(job.name)
        if record is None and all(map(os.path.exists, job.outputs)):
            return RerunDecision("its record is missing or damaged")
        if record is None:
            ahead = (
                " (goes on from its checkpoint)"
                if job.checkpoint and Path(job.checkpoint).exists()
                else ""
            )
            return RerunDecision(f"never finished{ahead}")
        if (
            changes := self._changes(job, record)
            or self._other(record)
            or self._inputs(job, record)
        ):
            return RerunDecision(changes, different=True)
        return RerunDecision(self._damage(job, record) or self._lost(job))

    def _damage(self, job: Job, record: dict[str, Any]) -> str:
        return damage(job, record, self.intact)

    def _kept(self, job: Job, known: str) -> kept.Kept | None:
        """The result that is kept of a job as it is today, if there is one that is whole; of those that came from the
        record only `known`, if that has one."""
        if job.rule == "fetch":  # it says where a file lies, which may be gone
            return None
        for result in kept.of(job.results, job.name):
            record = result.record
            if known and record.get("recorded", known) != known:
                continue
            if (
                record["fingerprint"] == job.fingerprint
                and not self._other(record)
                and not self._unlike(job, record)
            ):
                if result.whole:
                    return result
                self.say(f"{result.folder}: is damaged, so {job.name} runs")
        return None

    def _unlike(self, job: Job, record: dict[str, Any]) -> bool:
        """Whether a kept result may have been computed from anything but what the job would read now."""
        today = {self.graph.record(name): name for name in job.inputs}
        if record["inputs"].keys() != today.keys():
            return True
        for path, (made_from, content) in record["inputs"].items():
            name = today[path]
            verdict = self.verdict(name)
            unknown = verdict.different or (
                verdict.reason and self.record(name) is None and name not in self.kept
            )
            if (
                unknown
                or made_from != self.graph.job(name).fingerprint
                or content not in ("", self._content(name))
            ):
                return True
        return False

    def _lost(self, job: Job) -> str:
        """Which raw file is not as it was fetched, if there is need of it: prepared data do without."""
        if job.rule != "fetch":
            return ""
        name = job.name.replace("fetch/", "prepare/", 1)
        if "weights/" not in name:
            prepare, record = self.graph.job(name), self.record(name)
            if record and not self._changes(prepare, record) and not self._damage(prepare, record):
                return ""
        try:
            files = result_files.read(Path(job.outputs[0]), result_files.Fetched).files
            hashes = [
                file.get("sha256", "")
                for file in json.loads(Path(job.outputs[0]).read_bytes())["files"]
            ]
        except (OSError, FairflError):
            return f"{os.path.basename(job.outputs[0])} is damaged"
        for file, sha256 in zip(files, hashes, strict=True):
            path = Path(self.graph.workload.config.data_folder, file.path)
            if (
                not path.is_file()
                or path.stat().st_size != file.bytes
                or not self._is(job, path, sha256)
            ):
                return f"{path} is missing or damaged"
        return ""

    def _is(self, job: Job, path: Path, sha256: str) -> bool:
        """Whether a file of the job has this hash, or had it when it was last read and has not changed since."""
        if not sha256 or self.intact.check(job.results, str(path), path.stat(), sha256):
            return True
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == sha256:
                return True
        self.intact.forget(job.results, str(path))
        return False

    def _changes(self, job: Job, record: dict[str, Any]) -> str:
        if record["fingerprint"] == job.fingerprint:
            return ""
        return "; ".join(differences(record["spec"], job.parsed))

    def _other(self, record: dict[str, Any]) -> str:
        """Why a result of another arithmetic is made again."""
        found = arithmetic.differences(arithmetic.of_record(record), self.here)
        if self.anew:
            return "; ".join(f"{part}: {then} -> {now}" for part, then, now in found)
        for part, then, now in found:
            what = f"with {part} {then}, here it is {now}"
            if what not in self.others:
                self.say(f"note: results {what}, are kept (config.yaml: numerics_mismatch: keep)")
            self.others[what] += 1
        return ""

    def _inputs(self, job: Job, record: dict[str, Any]) -> str:
        """What the job read and is no longer there in that form."""
        read, today = record["inputs"], {self.graph.record(name): name for name in job.inputs}
        for path in read.keys() - today.keys():
            return f"no longer reads {path}"
        for path, name in today.items():
            if path not in read:
                return f"reads {name}, which it did not"
            before = self.verdict(name)
            if before.different:
                return f"{name}, which it reads, runs: {before.reason}"
            fingerprint, content = read[path]
            if fingerprint != self.graph.job(name).fingerprint:
                return f"{name}, which it reads, is another one now"
            if content and self._content(name) not in (content, ""):
                return f"{name}, which it reads, has come out different"
        return ""


def damage(job: Job, record: dict[str, Any], intact: Intact | None = None) -> str:
    """Which file of a finished job is missing, or not as the job left it. `intact` knows which need not be read."""
    for path in job.outputs:

        def known(path: str, state: os.stat_result, expected: str) -> bool:
            return intact is not None and intact.check(job.results, path, state, expected)

        if why := records.damage(path, record, known):
            if intact:
                intact.forget(job.results, path)
            return why
    return ""
