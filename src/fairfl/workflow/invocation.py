"""One call of Snakemake, from the plan to its end: nothing is lost, and success means that every result is of today.

Results that jobs are to replace are kept until they have (fairfl.runtime.kept). At the end it is planned again: a job
that only repaired a file may have come out different, a reader may have found an input damaged. Then the call fails,
and the same command brings the rest up to date.
"""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from fairfl.runtime import kept, records
from fairfl.workflow.graph import Job
from fairfl.workflow.rerun import Rerun

Asked = Callable[[Rerun], dict[str, Job]]


class Invocation:
    """`asked`: the jobs that the user asks for and all that they need, by name; `judge`: makes a new judge of them."""

    def __init__(self, asked: Asked, judge: Callable[[], Rerun], keep: int) -> None:
        self.asked, self.judge, self.most = asked, judge, keep
        self.left: dict[str, Job] = {}  # what must still run at the end
        self._planned: set[str] = set()
        self._kept: list[tuple[Job, kept.Kept]] = []

    def begin(self, rerun: Rerun, names: Iterable[str]) -> None:
        """Keep the results that jobs of these names are to replace."""
        self._planned = {name for name in self.asked(rerun) if rerun.reason(name)}
        for name in names:
            job = rerun.graph.job(name)
            reason = rerun.reason(name)
            if damaged := " is damaged " in reason:
                rerun.say(f"{name}: {reason}: set aside as *{records.DAMAGED}, made again")
            if not os.path.exists(job.record):
                for half in kept.of(job.results, name):
                    half.gather()
            if result := kept.keep(job.results, name, Path(job.record), damaged):
                self._kept.append((job, result))

    def end(self) -> str:
        """Put back what was not replaced; why the same command must run again, "" if it need not."""
        needed = set()
        for job, result in self._kept:
            if not _there(job):
                try:
                    result.move_back(Path(job.record))
                except OSError as error:
                    needed.add(result.folder)
                    print(
                        f"{job.name}: what it had left stays in {result.folder}: {error}",
                        file=sys.stderr,
                    )
        for results in {job.results for job, _ in self._kept}:
            kept.trim(results, self.most, needed)
        rerun = self.judge()
        self.left = must = {
            name: job for name, job in self.asked(rerun).items() if rerun.reason(name)
        }
        rerun.checksums.save()
        first = {name for name, job in must.items() if not must.keys() & set(job.inputs)}
        stale = [name for name in must if name not in self._planned]
        if (
            not stale or first & self._planned
        ):  # nothing, or it failed otherwise, or was not to run in this call
            return ""
        more = f" and {len(stale) - 1} more" if stale[1:] else ""
        return f"{stale[0]}{more} must run after all, run again: {rerun.reason(stale[0])}"


def _there(job: Job) -> bool:
    """True if it has left a result. Snakemake removes the files of a job that fails, but knows of no record."""
    return all(map(os.path.exists, (job.record, *job.outputs)))
