"""python -m fairfl.jobs.side_by_side: every table with the paper's number and the verdict in each cell."""

from fairfl.jobs import summary
from fairfl.runtime import cli

spec = summary.spec


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.tables.side_by_side import (
        texts_of,
    )  # here: the planner must not import pandas

    summary.write("side_by_side", argv, lambda workload, args: texts_of(workload, args.results))


if __name__ == "__main__":
    cli.run(main)
