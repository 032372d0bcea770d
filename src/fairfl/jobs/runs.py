"""python -m fairfl.jobs.runs: write the page of the runs."""

from fairfl.jobs import summary
from fairfl.runtime import cli

spec = summary.spec


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.page.runs import render  # here: the planner must not import jinja2

    summary.write("runs", argv, lambda workload, args: render(workload, args.results, args.out[0]))


if __name__ == "__main__":
    cli.run(main)
