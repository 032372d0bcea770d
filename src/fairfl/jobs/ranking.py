"""python -m fairfl.jobs.ranking: whether the order of the variants is the paper's, by artifact and column."""

from fairfl.jobs import summary
from fairfl.judgement.rows import ComparisonLine, csv_text, records
from fairfl.runtime import cli

spec = summary.spec


def main(argv: list[str] | None = None) -> None:
    from fairfl.judgement.ranking import (
        RankingLine,
        ranking_lines,
    )  # here: the planner must not import numpy and scipy

    summary.write(
        "ranking",
        argv,
        lambda workload, args: csv_text(
            ranking_lines(
                records(args.out[0].parent / "comparison.csv", "comparison", ComparisonLine)
            ),
            RankingLine,
        ),
    )


if __name__ == "__main__":
    cli.run(main)
