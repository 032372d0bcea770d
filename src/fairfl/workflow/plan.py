"""python -m fairfl.workflow.plan: say for each run whether it would run, and for each other job that would, why. Runs nothing.

The verdicts are those that Snakemake is given (fairfl.workflow.rerun), so both agree.
"""

import argparse
from pathlib import Path

from fairfl.experiments.workload import Workload, load_workload
from fairfl.runtime import cli
from fairfl.runtime.validation import from_text
from fairfl.workflow.graph import Graph
from fairfl.workflow.paths import Layout
from fairfl.workflow.rerun import Rerun

# May take hours each; the others are listed only if they run.
LONG = ("runs", "surrogates")


def lines(workload: Workload) -> list[str]:
    """The plan as text: one line per run and surrogate, one per other job that would run, and a sum."""
    graph = Graph(Layout(workload))
    rerun = Rerun(graph, workload.config.other_torch == "rerun")
    text, counts = [], {kind: [0, 0] for kind in LONG}
    others = 0
    for job in graph.below(graph.everything()):
        kind = job.name.partition("/")[0]
        why = rerun.verdict(job.name).reason
        if kind in LONG:
            counts[kind][0] += bool(why)
            counts[kind][1] += 1
        else:
            others += bool(why)
        if why or kind in LONG:
            text.append(f"{'run ' if why else 'keep'}  {job.name}  {why or 'up to date'}")
    for torch, count in sorted(rerun.others.items()):
        text.append(
            f"note: {count} results were made with torch {torch}, here is {rerun.torch}: kept (other_torch: keep)"
        )
    total = " and ".join(f"{run} of {every} {kind}" for kind, (run, every) in counts.items() if every)
    return [*text, f"{total or 'no run'} and {others} other jobs would run at scale {workload.scale.scale}"]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.workflow.plan", description=__doc__)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    args = parser.parse_args(argv)
    print("\n".join(lines(load_workload(args.root, from_text(args.config, dict, "--config")))))


if __name__ == "__main__":
    cli.run(main)
