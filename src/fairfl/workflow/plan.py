"""python -m fairfl.workflow.plan: for each long job whether it would run, for each other one that would, and why.

The verdicts are those that Snakemake is given (fairfl.workflow.rerun), on the jobs of the same Snakefile. Runs nothing.
"""

import argparse
from pathlib import Path

from fairfl.experiments.workload import load_workload
from fairfl.runtime import cli
from fairfl.runtime.validation import from_text
from fairfl.workflow import snakemake
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


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.workflow.plan", description=__doc__)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    args = parser.parse_args(argv)
    config = from_text(args.config, dict, "--config")
    load_workload(args.root, config)  # a bad configuration is one line, without Snakemake's around it
    print("\n".join(lines(snakemake.parsed(args.root, config)["graph"])))


if __name__ == "__main__":
    cli.run(main)
