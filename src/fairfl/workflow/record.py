"""python -m fairfl.workflow.record: take what has finished at full scale into the record."""

from fairfl.recorded.record import SCALE
from fairfl.runtime import cli
from fairfl.runtime.errors import FairflError
from fairfl.workflow import snakemake
from fairfl.workflow.recorded import RULES, Recorded, taken


def main(argv: list[str] | None = None) -> None:
    root, config, asked = snakemake.called_with(argv, __doc__)
    scale = asked.scale
    if scale != SCALE:
        raise FairflError(
            f"config.yaml: scale: {scale!r}: results are stored at scale {SCALE!r}: add --config scale={SCALE}"
        )
    graph = snakemake.parsed(root, config)["graph"]
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
