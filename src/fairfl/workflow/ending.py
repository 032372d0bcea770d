"""What a call leaves at its end: the page of what did not fail, and a word on files that were edited meanwhile."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from fairfl.experiments.workload import Workload
from fairfl.runtime import sealed
from fairfl.workflow import snapshot
from fairfl.workflow.graph import Job


def say_edits(root: Path, say: Callable[[str], None]) -> None:
    """Name the files whose code of today is no longer that of the results; the next call brings these up to date."""
    if edits := snapshot.edited(root, Path(os.environ[sealed.VARIABLE])):
        shown = ", ".join(edits[:5]) + f" and {len(edits) - 5} more" * (len(edits) > 5)
        say(f"edited meanwhile: {shown}; the next call sees it")


def page_of_the_rest(
    left: Mapping[str, Job], write: Callable[..., None], workload: Workload, root: Path, results: str, summaries: str
) -> None:
    """Write the page of all others where tables or figures alone have failed; it says why they did.

    `left` are the jobs that did not run to their end; `write` is fairfl.jobs.page.write_without.
    """
    failed = {name for name, job in left.items() if job.rule in ("table", "figure")}
    rest = [job for name, job in left.items() if name not in failed]
    if failed and [job.rule for job in rest] == ["page"]:
        Path(rest[0].record).unlink(missing_ok=True)  # so that the next call makes it again
        logs = {name.partition("/")[2].replace("/", "_"): Path(results, "logs", f"{name}.log") for name in failed}
        write(workload, root, Path(results), Path(summaries, "index.html"), logs)
