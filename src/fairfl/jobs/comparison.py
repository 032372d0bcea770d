"""python -m fairfl.jobs.comparison: every number of every table and figure, with the published one."""

from fairfl.jobs import summary
from fairfl.judgement.comparison import comparison_lines
from fairfl.judgement.rows import ComparisonLine, csv_text
from fairfl.runtime import cli

spec = summary.spec


def main(argv: list[str] | None = None) -> None:
    summary.write(
        "comparison",
        argv,
        lambda workload, args: csv_text(
            comparison_lines(workload, args.root, summary.files(args)), ComparisonLine
        ),
    )


if __name__ == "__main__":
    cli.run(main)
