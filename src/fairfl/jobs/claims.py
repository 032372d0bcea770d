"""python -m fairfl.jobs.claims: the claims of the papers, judged on our numbers and on theirs."""

import argparse
from typing import TYPE_CHECKING, Any

from fairfl.jobs import summary
from fairfl.reporting.cells import csv_text
from fairfl.reporting.claims.judging import ClaimLine, claim_lines
from fairfl.runtime import cli

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(workload: "Workload") -> dict[str, Any]:
    """What of the configuration and the papers it depends on."""
    return summary.spec(workload)


def main(argv: list[str] | None = None) -> None:
    def text(workload: "Workload", args: argparse.Namespace) -> str:
        return csv_text(claim_lines(workload, args.root, args.results), ClaimLine)

    summary.write("claims", argv, text)


if __name__ == "__main__":
    cli.run(main)
