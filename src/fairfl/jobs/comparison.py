"""python -m fairfl.jobs.comparison: every number of every table and figure beside the paper's."""

import argparse
from typing import TYPE_CHECKING, Any

from fairfl.jobs import summary
from fairfl.reporting.cells import csv_text
from fairfl.reporting.comparison import ComparisonLine, comparison_lines
from fairfl.runtime import cli

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(workload: "Workload") -> dict[str, Any]:
    """What of the configuration and the papers it depends on."""
    return summary.spec(workload)


def main(argv: list[str] | None = None) -> None:
    def text(workload: "Workload", args: argparse.Namespace) -> str:
        return csv_text(comparison_lines(workload, args.root, args.results), ComparisonLine)

    summary.write("comparison", argv, text)


if __name__ == "__main__":
    cli.run(main)
