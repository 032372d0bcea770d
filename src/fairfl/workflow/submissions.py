"""How jobs go to Slurm: short ones together, several in one submission, each with its own result, log and outcome.

Snakemake hands over all jobs that are ready. Jobs of a rule with equal requests share a submission as long as they
are expected to take a third of its time limit, ten minutes at most. Snakemake's plugin submits it, asks how it stands
and cancels it, as if it were one job; on the node fairfl.runtime.submission runs the jobs' commands.

A time limit, a lack of memory and a limit on submissions are no failures of a job: it is submitted again, and Snakemake
hears nothing of it.
"""

import contextlib
import json
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snakemake.iocontainers import ResourceList

from fairfl.runtime import atomic
from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import span
from fairfl.runtime.submission import OUT_OF_MEMORY, ended
from fairfl.workflow.queue import PREEMPTED

LONGEST = 600  # seconds of work that share a submission
SHARE = 3  # a time limit is so many times what is expected
LEAST = 10  # minutes of a time limit
START = 1  # seconds that each job of a submission takes beside its work
QUIET = 10.0  # seconds without a new job until those that wait for company are submitted
PAUSE = 20.0  # seconds until a refused submission is tried again
NAME = ".slurm"  # file with the name of a workflow's jobs in Slurm
# sbatch says so where the request is right, but not now.
_NOT_NOW = re.compile(
    r"SubmitJob\w*Limit|MaxJobCount|temporarily unable|Socket timed out|Unable to contact|"
    r"Resource temporarily unavailable|Slurm controller"
)
_NO_FAILURE = {"TIMEOUT", "OUT_OF_MEMORY", PREEMPTED}
_STATE = re.compile(r"SLURM status is: '(\w+)'")


@dataclass(eq=False)
class Submission:
    """Jobs of one rule in the place of one, for Snakemake's plugin; other attributes are the first one's."""

    jobs: list[Any]
    file: Path  # that fairfl.runtime.submission reads
    minutes: int
    memory_mb: int
    begun: float = field(default_factory=time.time)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.jobs[0], name)

    @property
    def resources(self) -> ResourceList:
        asked = {"runtime": self.minutes, "mem_mb": self.memory_mb}
        return ResourceList(fromdict=dict(self.jobs[0].resources.items()) | asked)

    @property
    def output(self) -> list[str]:
        return [path for job in self.jobs for path in job.output]

    def register(self, **how: Any) -> None:
        for job in self.jobs:
            job.register(**how)


def end_orphans(results: Path, say: Callable[[str], None]) -> None:
    """Cancel what a killed workflow has left in Slurm, which would go on and train what this one trains.

    Raises FairflError if Slurm does not answer.
    """
    if not (file := results / NAME).exists():
        return
    name = file.read_text().strip()
    squeue = ["squeue", "--noheader", "--format=%i", f"--name={name}"]
    try:
        limit, cancelled = time.monotonic() + 120, False
        while left := subprocess.run(
            squeue, text=True, capture_output=True, check=True, timeout=60
        ).stdout.split():
            if not cancelled:
                say(
                    f"{len(left)} submissions of a workflow that was killed here are cancelled "
                    f"(scancel --name={name}); trainings go on from their checkpoints"
                )
                subprocess.run(["scancel", f"--name={name}"], check=True, timeout=60)
                cancelled = True
            if time.monotonic() > limit:
                raise FairflError(
                    f"Slurm does not end jobs {', '.join(left)}: `squeue --name={name}`"
                )
            time.sleep(1)
    except (OSError, subprocess.SubprocessError) as error:
        raise FairflError(
            f"{file}: jobs of a workflow that was killed may still run in Slurm, which does not answer ({error}): "
            f"where it does, `scancel --name={name}`; then delete this file"
        ) from None
    file.unlink()


class Submissions:
    """Stands between Snakemake and the executor of its Slurm plugin from now on."""

    def __init__(
        self,
        executor: Any,
        results: Path,
        environment: dict[str, str],
        limits: Mapping[str, Mapping[str, int]],
        name: Callable[[Any], str],
        say: Callable[[str], None],
        preloaded: list[str] | None,
        most: int,
    ) -> None:
        """`limits`: minutes and memory_mb that a rule's jobs may ask for at most; `name` of a job; `most` at
        once; `preloaded` modules for jobs, None in an environment of Snakemake's."""
        if executor.array_jobs:
            raise FairflError(
                "--slurm-array-jobs: the plugin waits for ever for some of their jobs (issue 473 of "
                "snakemake-executor-plugin-slurm). Leave it out: short jobs share submissions here"
            )
        self.executor, self.results = executor, results
        self.environment, self.limits, self.name, self.say = environment, limits, name, say
        self.preloaded, self.most = preloaded, most
        self.waiting: list[Any] = []  # jobs that wait for company
        self.ready: list[Submission] = []
        self.under_way: set[int] = set()
        self.raised: dict[
            str, dict[str, int]
        ] = {}  # minutes and memory_mb of a job, above its rule's
        self.last = self.paused = self.told = 0.0
        self.number = 0
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._exec, self._success = executor.format_job_exec, executor.report_job_success
        self._error, self._run_jobs = executor.report_job_error, executor.run_jobs
        executor.run_jobs, executor.format_job_exec = self.take, self.command
        executor.report_job_success, executor.report_job_error = self.succeeded, self.failed
        for method in ("cancel", "shutdown"):
            setattr(executor, method, self._ends(getattr(executor, method)))
        atomic.write_text(results / NAME, executor.run_uuid)
        threading.Thread(target=self._submit, daemon=True).start()

    def _ends(self, method: Callable[[], None]) -> Callable[[], None]:
        def ending() -> None:
            self._over.set()
            method()
            (self.results / NAME).unlink(missing_ok=True)

        return ending

    # -- on the way there -------------------------------------------------------------------------
    def take(self, jobs: list[Any]) -> None:
        """Jobs that are ready."""
        with self._lock:
            for job in jobs:
                if job.is_group():
                    self._run_jobs([job])
                    continue
                self.executor.run_job_pre(job)
                self.waiting.append(job)
                self.last = time.monotonic()

    def _request(self, job: Any) -> tuple[int, int]:
        """Minutes and memory."""
        asked, raised = job.resources.get, self.raised.get(self.name(job), {})
        minutes, memory = int(asked("runtime") or 0), int(asked("mem_mb") or 0)
        return max(minutes, raised.get("minutes", 0)), max(memory, raised.get("memory_mb", 0))

    def _pack(self, waits: bool) -> None:
        """Make submissions of the jobs that wait; `waits`: not full ones may get company."""
        groups: dict[Any, list[Any]] = {}
        for job in self.waiting:
            same = {k: v for k, v in job.resources.items() if k not in ("seconds", "tmpdir")}
            groups.setdefault(
                repr((job.rule.name, job.threads, self._request(job), same)), []
            ).append(job)
        self.waiting = []
        for jobs in groups.values():
            minutes, memory = self._request(jobs[0])
            room, seconds, together = min(LONGEST, 60 * minutes / SHARE), 0.0, list[Any]()
            alone = self.preloaded is None or self.name(jobs[0]) in self.raised
            for job in jobs:
                expected = START + float(job.resources.get("seconds") or LONGEST)
                if together and (alone or seconds + expected > room):
                    self._add(together, seconds, minutes, memory)
                    seconds, together = 0.0, []
                together.append(job)
                seconds += expected
            if waits and seconds < room:
                self.waiting += together
            else:
                self._add(together, seconds, minutes, memory)

    def _add(self, jobs: list[Any], seconds: float, minutes: int, memory: int) -> None:
        self.number += 1
        file = self.results / f".jobs/submissions/{self.number}.json"
        enough = max(LEAST, -int(-SHARE * seconds // 60)) if len(jobs) > 1 else minutes
        submission = Submission(jobs, file, min(minutes, enough), memory)
        for job in jobs:
            for path in (*job.output, *job.log):
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            for path in job.log:
                Path(path).unlink(missing_ok=True)  # an earlier run's says nothing of this one
        whole = {
            "lock": str(self.results / ".lock"),
            "commands": [job.shellcmd for job in jobs],
            "warm_start": self.preloaded is not None,
            "preloaded": self.preloaded or [],
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(whole))
        self.ready.append(submission)

    def _submit(self) -> None:
        while not self._over.wait(0.5):
            self.submit(time.monotonic())

    def submit(self, now: float) -> None:
        """Submit what is full, or has waited long enough for company, as far as the limit of those under way allows."""
        with self._lock:
            self._pack(waits=now - self.last < QUIET)
            while self.ready and len(self.under_way) < self.most and now > self.paused:
                submission = self.ready.pop(0)
                self.under_way.add(id(submission))
                self.executor._job_submission_executor.submit(self.executor.run_job, submission)

    def command(self, job: Any) -> str:
        """Return what the cluster runs. It names the sealed copy, since not every cluster passes variables on."""
        if isinstance(job, Submission) and self.preloaded is not None:
            words = [sys.executable, "-P", "-m", "fairfl.runtime.submission", str(job.file)]
            return with_variables(self.environment, shlex.join(words))
        first = job.jobs[0] if isinstance(job, Submission) else job
        return with_variables(self.environment, self._exec(first))

    # -- on the way back --------------------------------------------------------------------------
    def succeeded(self, info: Any) -> None:
        with self._lock:
            self.under_way.discard(id(info.job))
        for job in self._jobs(info):
            self._success(_of(info, job))

    def failed(self, info: Any, msg: str | None = None, **how: Any) -> None:
        """Report what of a submission has ended well or badly; the rest goes on."""
        if not isinstance(submission := info.job, Submission):
            return self._error(info, msg, **how)
        with self._lock:
            self.under_way.discard(id(submission))
            match = _STATE.search(msg or "")
            if match is None and _NOT_NOW.search(msg or ""):
                return self._refused(submission, msg or "")
        self._judge(info, match[1] if match else "", msg or "", how)

    def _refused(self, submission: Submission, msg: str) -> None:
        """Slurm takes no submission now."""
        now = time.monotonic()
        self.ready.insert(0, submission)
        self.paused = now + PAUSE
        if now > self.told:
            self.told = now + 600
            self.say(
                f"Slurm takes no more submissions now: {refusal(msg)}; {len(self.ready)} wait here, "
                f"{len(self.under_way)} are there. `sacctmgr show assoc user=$USER format=maxsubmit` says how many it "
                "takes: write less into the profile, as `jobs:`"
            )

    def _judge(self, info: Any, state: str, msg: str, how: dict[str, Any]) -> None:
        submission: Submission = info.job
        codes = self._codes(submission, state)
        left: list[Any] = []
        for number, job in enumerate(submission.jobs):
            code = codes.get(number)
            if code is None and state == "OUT_OF_MEMORY" and not left:
                code = OUT_OF_MEMORY
            if code == 0:
                self._success(_of(info, job))
            elif code == OUT_OF_MEMORY:
                self._ask_for_more(info, job, "memory_mb", how)
            elif code is not None:
                killed = f"it was killed (SIGKILL); {msg}" if code == 128 + signal.SIGKILL else msg
                self._error(_of(info, job), killed, **how)
            else:
                left.append(job)
        if not left:
            return
        moved = bool(codes) or any(_written_since(job, submission.begun) for job in left)
        if state == "TIMEOUT" and not moved:
            self._ask_for_more(info, left[0], "minutes", how)
            left = left[1:]
        if left and (codes if state in ("FAILED", "NODE_FAIL") else state in _NO_FAILURE):
            others = f" and {len(left) - 1} more go on" if len(left) > 1 else " goes on"
            self.say(
                f"{self.name(left[0])}{others} in another submission: Slurm ended the last one ({state}) after "
                f"{span(time.time() - submission.begun)}"
            )
            self._again(left, submission.minutes, submission.memory_mb)
        else:
            for job in left:
                self._error(_of(info, job), refusal(msg), **how)

    def _codes(self, submission: Submission, state: str) -> dict[int, int]:
        """A slow file system may show them late."""
        limit = time.monotonic() + self.executor.workflow.execution_settings.latency_wait
        while True:
            codes, whole = ended(submission.file)
            if whole or state != "FAILED" or self.preloaded is None or time.monotonic() > limit:
                return codes
            time.sleep(1)

    def _ask_for_more(self, info: Any, job: Any, what: str, how: dict[str, Any]) -> None:
        """Ask for twice as much, of minutes or memory_mb, as far as the scale's limits allow it."""
        had = getattr(info.job, what)
        more = min(2 * had, max(had, self.limits.get(job.rule.name, {}).get(what, 0)))
        why = f"{had} {'MB' if what == 'memory_mb' else what} were not enough"
        if more == had:
            fault = f"{why}: raise limits.{job.rule.name}.{what} in scales/"
            return self._error(_of(info, job), fault, **how)
        self.say(f"{self.name(job)}: {why}; it asks for {more}")
        self.raised.setdefault(self.name(job), {})[what] = more
        self._again([job], *self._request(job))

    def _again(self, jobs: list[Any], minutes: int, memory: int) -> None:
        with self._lock:
            self._add(jobs, LONGEST, minutes, memory)

    def _jobs(self, info: Any) -> Iterable[Any]:
        return info.job.jobs if isinstance(info.job, Submission) else [info.job]


def _of(info: Any, job: Any) -> Any:
    """Resources of one job."""
    return type(info)(job, external_jobid=info.external_jobid, aux=info.aux)


def with_variables(environment: Mapping[str, str], command: str) -> str:
    """A command for a shell that may not have them."""
    exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
    return f"export {exports} && {command}"


def refusal(message: str) -> str:
    """Return what sbatch says, without the command; another message as it is."""
    match = re.search(r"The error message was '(.*?)'\.\n", message, re.S)
    return " ".join(match[1].replace("sbatch: error: ", "").split()) if match else message.strip()


def _written_since(job: Any, moment: float) -> bool:
    """True if the job has written a checkpoint."""
    path = getattr(job.params, "checkpoint", "")
    with contextlib.suppress(OSError):
        return bool(path) and Path(path).stat().st_mtime > moment
    return False
