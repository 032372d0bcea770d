"""For each long job whether it would run, for each other one that would, and why.

The verdicts are those that Snakemake is given (fairfl.workflow.rerun), on the jobs of the same Snakefile. Runs nothing.
"""

from fairfl.workflow.graph import Graph
from fairfl.workflow.recorded import rerun_of


def lines(graph: Graph) -> list[str]:
    """The plan as text: a line for each job that keeps a checkpoint or would run, and a sum."""
    rerun = rerun_of(graph)
    text: list[str] = []
    counts: dict[str, list[int]] = {}
    others = 0
    for job in rerun.needed(graph.everything()):
        why = rerun.verdict(job.name).reason
        if job.checkpoint:
            count = counts.setdefault(job.rule, [0, 0])
            count[0] += bool(why)
            count[1] += 1
        else:
            others += bool(why)
        if why or job.checkpoint:
            text.append(f"{'run ' if why else 'keep'}  {job.name}  {why or 'up to date'}")
    for torch, results in sorted(rerun.others.items()):
        text.append(
            f"note: {results} results were made with torch {torch}, here is {rerun.torch}: kept (other_torch: keep)"
        )
    total = " and ".join(f"{run} of {every} {rule}" for rule, (run, every) in sorted(counts.items(), reverse=True))
    return [*text, f"{total or 'no run'} and {others} other jobs would run at scale {graph.workload.scale.scale}"]
