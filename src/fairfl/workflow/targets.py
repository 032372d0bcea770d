"""What the user asks Snakemake for: targets and what they need, refused with the nearest valid one, and where they run.

As fairfl.workflow.snakemake it touches parts of Snakemake which that does not promise to keep.
"""

import os
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from fairfl.runtime import gpu_slots
from fairfl.runtime.errors import FairflError
from fairfl.workflow.graph import Graph, Job

if TYPE_CHECKING:
    from snakemake.workflow import Workflow

    from fairfl.workflow.rerun import Rerun

COMPUTING = (
    "train",
    "local_optimum",
    "surrogate",
    "timing",
)  # rules whose jobs compute on the device


def is_local(workflow: "Workflow") -> bool:
    """True if jobs run on this machine, False where an executor sends them elsewhere.

    Snakemake knows it (`local_exec`) when it begins to run jobs, and in a dry run never; `-j` may say either. So the
    executor is looked up in the call of the command line, in which the Snakefile is parsed.
    """
    call = snakemake_call()
    return call["executor_plugin"].common_settings.local_exec if call else workflow.local_exec


def snakemake_call() -> dict[str, Any]:
    """Variables of the call of the command line; none where Snakemake is called otherwise."""
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
        if frame.f_code.co_name == "args_to_api":
            return frame.f_locals
    return {}


def check_targets(workflow: "Workflow", graph: Graph, rerun: "Rerun") -> None:
    """Raises FairflError with the nearest valid name if nothing makes a target, or if a plan would run anything; and
    if a target is a file of a stored result.
    """
    targets = workflow.dag_settings.targets
    if workflow.touch:
        raise FairflError(
            "--touch: times of files do not count here, records do: `snakemake -n` says what must run"
        )
    if workflow.storage_settings.all_temp:
        raise FairflError(
            "--all-temp: results would be deleted as soon as they are read, and made again by the next call: "
            "leave it out, also of your profile"
        )
    if "plan" in targets and (len(targets) > 1 or workflow.dryrun):
        part = next((name for name in targets if name in graph.workload.known), "eagle_table1")
        raise FairflError(
            "plan runs nothing, and takes neither another target nor -n: "
            f"`fairfl plan --config artifacts={part}` plans a part"
        )
    for target in targets:
        if "/" in target and any(map(rerun.stored, _jobs(graph, target))):
            raise FairflError(
                f"{target}: is among the stored results, and in no file: "
                "docs/record.md says how to read it; `--config recorded=ignore` computes it here"
            )
        if target not in {rule.name for rule in workflow.rules} and not _jobs(graph, target):
            names = [rule.name for rule in workflow.rules if not rule.has_wildcards()]
            if "/" in target:
                names = [path for job in graph.below(graph.everything()) for path in job.outputs]
            hint = "".join(
                f"; did you mean {name!r}?" for name in get_close_matches(target, names, n=1)
            )
            raise FairflError(
                f"no target {target!r}{graph.workload.why_left_out(target) or hint}\n"
                "`snakemake --list-target-rules` lists papers, tables and figures; what they are made from is a target "
                "too, by its path below results/"
            )


def check_device(workflow: "Workflow", graph: Graph, running: Iterable[Job]) -> None:
    """Raises FairflError if jobs are to compute on a GPU of this machine, which has none."""
    computing = [job.rule for job in running if job.rule in COMPUTING]
    if (
        computing
        and is_local(workflow)
        and graph.workload.config.device == "cuda"
        and not gpu_slots.visible()
    ):
        raise FairflError(
            "config.yaml: device: 'cuda': there is no GPU here that CUDA may use, and "
            f"{len(computing)} jobs would compute on one. Expected cpu or auto, or a cluster's profile"
        )


def asked(workflow: "Workflow", rerun: "Rerun") -> dict[str, Job]:
    """The jobs that the user asks for or forces to run, and all that they need, by name."""
    settings = workflow.dag_settings
    targets = filter(None, [*requested(workflow), *settings.forcerun, *settings.until])
    return {j.name: j for target in targets for j in rerun.needed(_jobs(rerun.graph, target))}


def requested(workflow: "Workflow") -> list[str]:
    """Rules and files that the user names, or the default."""
    settings = workflow.dag_settings
    default = [] if settings.targets or settings.target_jobs else [workflow.default_target]
    return list(filter(None, [*settings.targets, *default]))


def _jobs(graph: Graph, target: str) -> list[str]:
    """Names of the jobs that a target asks for; none if there are no such jobs."""
    try:
        path = target if target in graph.rules or os.path.isabs(target) else os.path.relpath(target)
        jobs = graph.wanted(path)
        return jobs if all(map(graph.job, jobs)) else []
    except (KeyError, ValueError):
        return []
