"""python -m fairfl.jobs.claims: the claims of the papers, checked on our numbers and on theirs."""

from fairfl.jobs import summary
from fairfl.judgement.rows import csv_text
from fairfl.runtime import cli

spec = summary.spec


def main(argv: list[str] | None = None) -> None:
    from fairfl.judgement.claims.judging import claim_lines
    from fairfl.judgement.rows import ClaimLine

    summary.write(
        "claims",
        argv,
        lambda workload, args: csv_text(
            claim_lines(workload, args.root, summary.files(args)), ClaimLine
        ),
    )


if __name__ == "__main__":
    cli.run(main)
