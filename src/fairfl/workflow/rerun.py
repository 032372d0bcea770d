"""Which jobs must run, and why, in words: decided by the records of their results, not by times of files.

A job runs if it has no record and is not stored, if its spec has changed, if a file that it left is missing or not as
it left it, or if what it read has changed: was made from another spec, came out with other content, or will be made
from another spec now. A job that only repairs a file ought to leave the same content again, so what reads it does not
run; should it come out different, fairfl.workflow.invocation plans again.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from fairfl.recorded.record import SCALE, without_code
from fairfl.runtime import arithmetic, hashes, kept, records
from fairfl.runtime.fingerprint import canonical
from fairfl.values.differences import differences
from fairfl.workflow.graph import Graph, Job
from fairfl.workflow.recorded import Recorded, Stored

KEPT = "was computed before and kept"


class Rerun:
    """Decides on jobs, each once. `numerics`: the ones that jobs would have; `rerun_on_mismatch`: results of others are
    computed again.

    A job whose result is kept (fairfl.runtime.kept) gets that back. One that was not computed here stands for what
    `recorded` has of it: it leaves no files, its readers get them from there (fairfl.recorded.door).
    """

    def __init__(
        self,
        graph: Graph,
        numerics: arithmetic.Arithmetic | None = None,
        rerun_on_mismatch: bool = False,
        say: Callable[[str], None] | None = None,
        recorded: Recorded | None = None,
    ) -> None:
        self.graph, self.numerics, self.rerun_on_mismatch = graph, numerics or {}, rerun_on_mismatch
        self.recorded = recorded
        self.say = say or (lambda _: None)
        self.kept_mismatches = Counter[str]()  # 'with threads 2, here it is 1' -> results
        self.checksums = hashes.Index(hashes.OUTPUTS, records.checksum)
        self._reasons: dict[str, str] = {}
        self._different: set[str] = set()  # jobs that run, and whose results may come out different
        self._kept: dict[str, kept.Kept] = {}
        self._stored: dict[str, Stored] = {}
        self._above: dict[str, list[str]] = {}
        self._records: dict[str, dict[str, Any] | None] = {}
        self._contents: dict[str, str] = {}

    def reason(self, name: str) -> str:
        """Return why the job of this name must run; "" if it need not."""
        if name not in self._reasons:
            self._reasons[name] = self._decide(self.graph.job(name))
        return self._reasons[name]

    def stored(self, name: str) -> Stored | None:
        """Return the stored result that stands for what the job would leave, if one does."""
        self.reason(name)
        return self._stored.get(name)

    def is_done(self, name: str) -> bool:
        """True if a job's result is here, is kept or is stored."""
        return self.reason(name) in ("", KEPT)

    def put_back(self, jobs: Collection[Job]) -> None:
        """Leave what is kept of these jobs, whose reason is KEPT, where it belongs, and keep what lies there.

        Raises OSError if a file cannot be moved; the next call moves the rest.
        """
        for job in jobs:
            kept.keep(job.results, job.name, Path(job.record), damaged=True)
            result = self._kept.pop(job.name)
            result.move_back(Path(job.record))
            self._records[job.name], self._reasons[job.name] = result.record, ""
        most = int(self.graph.workload.config.superseded_results_limit)
        for results in {job.results for job in jobs}:
            kept.trim(results, most)

    def job_spec(self, name: str, code: str) -> str:
        """Text that fairfl.jobs.job takes from a file: the spec, where to leave the record, which results to accept,
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

    def needed(self, targets: Iterable[str]) -> list[Job]:
        """List the jobs that targets stand for, and all that they need; what a stored one has read is not."""
        return list(self.graph.below(targets, self.stored))

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
        """The jobs that must run among what a job needs, without what these need in turn."""
        if name not in self._above:
            above: dict[str, None] = {}
            for before in () if self.stored(name) else self.graph.job(name).inputs:
                above |= dict.fromkeys([before] if self.reason(before) else self.nearest(before))
            self._above[name] = list(above)
        return self._above[name]

    def _decide(self, job: Job) -> str:
        if record := self.record(job.name):
            changes = (
                self._spec_differs(job, record)
                or self._numerics_differ(record)
                or self._inputs_differ(job, record)
            )
            reason = changes or self._damage(job, record) or self._missing_raw_file(job)
        else:
            changes, reason = "", self._say_unfinished(job)
        if reason and (result := self._find_kept(job)):
            self._kept[job.name] = result
            return KEPT
        if reason and (stored := self._find_stored(job)):
            self._stored[job.name] = stored
            return ""
        if changes:
            self._different.add(job.name)
        return reason

    def _say_unfinished(self, job: Job) -> str:
        if all(map(os.path.exists, job.outputs)):
            return "its record is missing or damaged"
        ahead = job.checkpoint and Path(job.checkpoint).exists()
        return "never finished (goes on from its checkpoint)" if ahead else "never finished"

    def _find_stored(self, job: Job) -> Stored | None:
        """The stored result of a job, unless that was computed here: then an edit of its code computes it again."""
        left = self.record(job.name)
        if self.recorded is None or (
            left and without_code(left["spec"]) == without_code(job.parsed)
        ):
            return None
        return self.recorded.stored(job)

    def _find_kept(self, job: Job) -> kept.Kept | None:
        """Return the result that is kept of a job as it is today, if there is one that is whole."""
        if job.rule == "fetch":  # it says where a file lies, which may be gone
            return None
        for result in kept.of(job.results, job.name):
            record = result.record
            if (
                record["fingerprint"] != job.fingerprint
                or "recorded" in record
                or self._numerics_differ(record)
                or self._inputs_differ(job, record)
            ):
                continue
            if all(map(self._content, job.inputs)):  # else it may have read anything
                if result.whole:
                    return result
                self.say(f"{result.folder}: is damaged, so {job.name} runs")
        return None

    def _missing_raw_file(self, job: Job) -> str:
        """Return which raw file is not as it was fetched, if there is need of it: prepared data do without."""
        if job.rule != "fetch":
            return ""
        name = job.name.replace("fetch/", "prepare/", 1)
        if "weights/" not in name:
            prepare, record = self.graph.job(name), self.record(name)
            if record and not (
                self._spec_differs(prepare, record) or self._damage(prepare, record)
            ):
                return ""
        try:
            marker = json.loads(Path(job.outputs[0]).read_bytes())
            files = [(f["path"], f["bytes"], f.get("sha256", "")) for f in marker["files"]]
        except (OSError, ValueError, KeyError, TypeError):
            return f"{os.path.basename(job.outputs[0])} is damaged"
        for below, size, sha256 in files:
            path = Path(self.graph.workload.config.data_folder, below)
            is_whole = path.is_file() and path.stat().st_size == size
            if not is_whole or (sha256 and hashes.sha256(path) != sha256):
                return f"{path} is missing or damaged"
        return ""

    def _spec_differs(self, job: Job, record: dict[str, Any]) -> str:
        if record["fingerprint"] == job.fingerprint:
            return ""
        return "; ".join(differences(record["spec"], job.parsed))

    def _numerics_differ(self, record: dict[str, Any]) -> str:
        """Return why a result of another arithmetic is computed again; count the others."""
        mismatches = arithmetic.differences(record.get("arithmetic", {}), self.numerics)
        if self.rerun_on_mismatch:
            return "; ".join(f"{part}: {then} -> {now}" for part, then, now in mismatches)
        for part, then, now in mismatches:
            what = f"with {part} {then}, here it is {now}"
            if what not in self.kept_mismatches:
                self.say(f"note: results {what}, are kept (config.yaml: numerics_mismatch: keep)")
            self.kept_mismatches[what] += 1
        return ""

    def _inputs_differ(self, job: Job, record: dict[str, Any]) -> str:
        """Return what the job has read that is no longer there in that form."""
        read, today = record["inputs"], {self.graph.record(name): name for name in job.inputs}
        for path in read.keys() - today.keys():
            return f"no longer reads {path}"
        for path, name in today.items():
            if path not in read:
                return f"reads {name}, which it did not"
            reason = self.reason(name)
            if name in self._different:
                return f"{name}, which it reads, runs: {reason}"
            fingerprint, content = read[path]
            if fingerprint != self.graph.job(name).fingerprint:
                return f"{name}, which it reads, is another one now"
            if content and self._content(name) not in (content, ""):
                return f"{name}, which it reads, has come out different"
        return ""

    def _damage(self, job: Job, record: dict[str, Any]) -> str:
        """Return which file of a finished job is missing or not as the job left it."""
        faults = (records.damage(path, record, self.checksums.checksum) for path in job.outputs)
        return next(filter(None, faults), "")


def rerun_of(graph: Graph, say: Callable[[str], None] | None = None) -> Rerun:
    """The judge of a graph's jobs, as its workload is configured."""
    config = graph.workload.config
    numerics = arithmetic.of(
        config.device, config.threads, config.backend, elsewhere=not graph.runs_here
    )
    strict = config.numerics_mismatch == "rerun"
    uses_stored = config.recorded != "ignore" and graph.workload.scale.scale == SCALE
    recorded = Recorded(graph, only=numerics if strict else None) if uses_stored else None
    return Rerun(graph, numerics, strict, say, recorded)
