"""python -m fairfl.jobs.order: whether the order of the variants is the paper's, by artifact and column."""

from fairfl.jobs import summary
from fairfl.judgement.rows import ComparisonLine, csv_text, records
from fairfl.runtime import cli

spec = summary.spec


def main(argv: list[str] | None = None) -> None:
    from fairfl.judgement.order import OrderLine, order_lines  # here: the planner must not import numpy and scipy

    summary.write(
        "order",
        argv,
        lambda workload, args: csv_text(
            order_lines(records(args.out[0].parent / "comparison.csv", "comparison", ComparisonLine)), OrderLine
        ),
    )


if __name__ == "__main__":
    cli.run(main)
