"""Which jobs must run, and why, in words: decided by the records of their results, not by times of files.

A job runs if it has no record and is not stored, if its spec has changed, if a file that it left is missing or not as
it left it, or if what it read has changed: was made from another spec, came out with other content, or will be made
from another spec now. A job that only repairs a file ought to leave the same content again, so what reads it does not
run; should it come out different, fairfl.workflow.invocation plans again.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairfl.recorded.record import without_code
from fairfl.runtime import arithmetic, kept, records, result_files
from fairfl.runtime.differences import differences
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import canonical
from fairfl.runtime.hashes import Intact
from fairfl.workflow.graph import Graph, Job

if TYPE_CHECKING:
    from fairfl.workflow.recorded import Recorded, Stored


KEPT = "was computed before and kept"


@dataclass(frozen=True)
class RerunDecision:
    """Why a job must run, "" if it need not, and whether its results may come out different."""

    reason: str = ""
    different: bool = False


class Rerun:
    """Decides on jobs, each once. `here`: the arithmetic that jobs would have; `anew`: results of another are made
    again.

    A job whose result is kept (fairfl.runtime.kept) gets that back. One that was not computed here stands for what
    `recorded` has of it: it leaves no files, its readers get them from there (fairfl.recorded.door).
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
        self.say = say or (lambda _: None)
        self.others: Counter[str] = (
            Counter()
        )  # 'threads 2, here it is 1' -> results that are kept all the same
        self.intact = Intact()
        self._kept: dict[str, kept.Kept] = {}
        self._stored: dict[str, Stored] = {}
        self._above: dict[str, list[str]] = {}
        self._verdicts: dict[str, RerunDecision] = {}
        self._records: dict[str, dict[str, Any] | None] = {}
        self._contents: dict[str, str] = {}

    def verdict(self, name: str) -> RerunDecision:
        """True if the job of this name must run."""
        if name not in self._verdicts:
            job = self.graph.job(name)
            verdict = self._decided(job)
            if verdict.reason and (result := self._find_kept(job)):
                self._kept[name] = result
                verdict = RerunDecision(KEPT)
            elif verdict.reason and (stored := self._find_stored(job)):
                self._stored[name] = stored
                verdict = RerunDecision()
            self._verdicts[name] = verdict
        return self._verdicts[name]

    def stored(self, name: str) -> "Stored | None":
        """The stored result that stands for what the job would leave, if one does."""
        self.verdict(name)
        return self._stored.get(name)

    def is_done(self, name: str) -> bool:
        """True if a job's result is here, is kept or is stored."""
        return self.verdict(name).reason in ("", KEPT)

    def put_back(self, jobs: Iterable[Job]) -> int:
        """Leave what is kept of these jobs where it belongs, and keep what lies there; the number of results.

        Raises OSError if a file cannot be moved; the next call moves the rest.
        """
        names = [job.name for job in jobs if self.verdict(job.name).reason == KEPT]
        for job in map(self.graph.job, names):
            kept.keep(job.results, job.name, Path(job.record), damaged=True)
            result = self._kept.pop(job.name)
            result.move_back(Path(job.record))
            self._records[job.name], self._verdicts[job.name] = result.record, RerunDecision()
        most = int(self.graph.workload.config.superseded_results_limit)
        for results in {self.graph.job(name).results for name in names}:
            kept.trim(results, most)
        return len(names)

    def order(self, name: str, code: str) -> str:
        """What fairfl.runtime.job takes from a file: the spec, where to leave the record, which results to accept,
        which of them are stored, and the copy of the project to work from.
        """
        job = self.graph.job(name)
        expected = {
            before.record: [before.fingerprint, stored.entry.hash]
            if (stored := self.stored(before.name))
            else before.fingerprint
            for before in map(self.graph.job, job.inputs)
        }
        rest = canonical(
            {
                "record": job.record,
                "inputs": expected,
                "stored": self.stored_files([name]),
                "code": code,
            }
        )
        return f'{{"spec":{job.spec},{rest[1:]}\n'

    def stored_files(self, names: Iterable[str]) -> dict[str, list[Any]]:
        """By path, what fairfl.recorded.door takes, of all stored results that these jobs go back to."""
        return {
            path: [job.name, stored.entry.hash, path.removeprefix(job.results), stored.same_code]
            for job in self.needed(names)
            if (stored := self.stored(job.name))
            for path in job.outputs
        }

    def is_leaf(self, name: str) -> bool:
        """True if what a job would read is not needed: its result is stored."""
        return self.stored(name) is not None

    def needed(self, targets: Iterable[str]) -> list[Job]:
        """The jobs that targets stand for, and all that they need."""
        return list(self.graph.below(targets, self.is_leaf))

    def record(self, name: str) -> dict[str, Any] | None:
        if name not in self._records:
            left = records.read(self.graph.record(name))
            # Earlier versions wrote stored results back, as if the job had run here.
            self._records[name] = None if left and "recorded" in left else left
        return self._records[name]

    def _content(self, name: str) -> str:
        """Hash of what the job has left, gets back or has stored; "" if it has nothing."""
        if name not in self._contents:
            if stored := self.stored(name):
                self._contents[name] = stored.entry.hash
            else:
                record = self._kept[name].record if name in self._kept else self.record(name)
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

    def _find_stored(self, job: Job) -> "Stored | None":
        """The stored result of a job, unless that was computed here: then an edit of its code computes it again."""
        left = self.record(job.name)
        if self.recorded is None or (
            left and without_code(left["spec"]) == without_code(job.parsed)
        ):
            return None
        return self.recorded.stored(job)

    def _find_kept(self, job: Job) -> kept.Kept | None:
        """The result that is kept of a job as it is today, if there is one that is whole."""
        if job.rule == "fetch":  # it says where a file lies, which may be gone
            return None
        for result in kept.of(job.results, job.name):
            record = result.record
            if (
                record["fingerprint"] == job.fingerprint
                and "recorded" not in record
                and not self._other(record)
                and not self._unlike(job, record)
            ):
                if result.whole:
                    return result
                self.say(f"{result.folder}: is damaged, so {job.name} runs")
        return None

    def _unlike(self, job: Job, record: dict[str, Any]) -> bool:
        """True if a kept result may have been computed from anything but what the job would read now."""
        today = {self.graph.record(name): name for name in job.inputs}
        if record["inputs"].keys() != today.keys():
            return True
        for path, (made_from, content) in record["inputs"].items():
            name = today[path]
            verdict = self.verdict(name)
            unknown = verdict.different or (
                verdict.reason and self.record(name) is None and name not in self._kept
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
        """True if a file of the job has this hash, or had it when it was last read and has not changed since."""
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
