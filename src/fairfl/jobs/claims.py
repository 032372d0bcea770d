"""python -m fairfl.jobs.claims: the claims of the papers, judged on our numbers and on theirs."""

from typing import TYPE_CHECKING, Any

from fairfl.experiments.workload import load_workload
from fairfl.jobs import summary_spec
from fairfl.reporting.cells import csv_text
from fairfl.reporting.claims.judging import ClaimLine, claim_lines
from fairfl.runtime import atomic, cli, job

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(workload: "Workload") -> dict[str, Any]:
    """What of the configuration and the papers it depends on."""
    return summary_spec.spec(workload)


def main(argv: list[str] | None = None) -> None:
    args = job.summary_arguments("Judge the papers' claims.", argv)
    with job.run_context(args, args.out):
        workload = load_workload(args.root, args.config)
        lines = claim_lines(workload, args.root, args.results)
        atomic.write_text(args.out, csv_text(lines, ClaimLine))


if __name__ == "__main__":
    cli.run(main)
