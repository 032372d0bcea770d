"""python -m fairfl.workflow.record: take what has finished at full scale into the record."""

import argparse
from pathlib import Path

from fairfl.experiments.workload import load_workload
from fairfl.recorded.record import SCALE
from fairfl.runtime import cli
from fairfl.runtime.errors import FairflError
from fairfl.values.json_text import from_text
from fairfl.workflow import snakemake
from fairfl.workflow.recorded import RULES, Recorded, taken


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.workflow.record", description=__doc__)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    args = parser.parse_args(argv)
    config = from_text(args.config, dict, "--config")
    scale = load_workload(args.root, config).scale.scale
    if scale != SCALE:
        raise FairflError(
            f"config.yaml: scale: {scale!r}: results are stored at scale {SCALE!r}: add --config scale={SCALE}"
        )
    graph = snakemake.parsed(args.root, config)["graph"]
    partitions = {
        name
        for name in graph.wanted("all")
        for name in graph.job(name).inputs
        if name.startswith("partition/")
    }
    jobs = [
        job
        for job in graph.below(graph.everything())
        if job.rule in RULES and (job.rule != "partition" or job.name in partitions)
    ]
    counts = taken(Recorded(graph), jobs)
    print(
        ", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "nothing to store"
    )


if __name__ == "__main__":
    cli.run(main)
