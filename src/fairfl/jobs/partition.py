"""python -m fairfl.jobs.partition: assign a prepared data set to clients and cut each client's share."""

from typing import TYPE_CHECKING, Any

from fairfl.jobs import job
from fairfl.runtime import atomic, cli

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(workload: "Workload", setting: str) -> dict[str, Any]:
    """Keys of a setting that decide who has which sample."""
    training = workload.settings[setting].training()
    keys = ("data", "samples", "partition", "partition_seed", "label_noise", "clients", "split")
    return {key: training[key] for key in keys}


def plugins(spec: dict[str, Any]) -> list[str]:
    """The module that the spec names, looked up at run time."""
    return [f"partition.{spec['partition']['name']}"]


def main(argv: list[str] | None = None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from fairfl.data import prepared
    from fairfl.partition.deal import (
        COLUMNS,
        TYPES,
        PartitionSpec,
        check,
        described,
        partition,
        statistics,
    )

    files = {"out": "partition (.parquet)", "statistics": "sizes and label counts (.csv)"}
    args, spec = job.parse(argv, "partition", PartitionSpec, "data", **files)
    with job.run_context(args, args.out, args.statistics):
        # Who owns what does not depend on the inputs, which may be gigabytes.
        tensors, metadata = prepared.load(
            args.data, "labels", "groups", optional=("ambiguous", *COLUMNS)
        )
        check(args.data, tensors)
        columns, assignment = partition(spec, tensors)
        table = pa.table({name: pa.array(values, TYPES[name]) for name, values in columns.items()})
        # `plan` compares the spec with today's.
        remarks = described(assignment, metadata, columns, tensors.get("client"))
        table = table.replace_schema_metadata({"spec": args.spec, **remarks})
        with atomic.replacing(args.out) as temporary:
            pq.write_table(table, temporary)
        atomic.write_text(
            args.statistics,
            statistics(columns, tensors["labels"], assignment.remarks, spec.data.label),
        )


if __name__ == "__main__":
    cli.run(main)
