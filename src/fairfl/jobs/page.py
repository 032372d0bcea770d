"""python -m fairfl.jobs.page: write the report page."""

from fairfl.jobs import summary
from fairfl.runtime import cli

spec = summary.spec


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.page.page import render  # here: the planner must not import jinja2

    summary.write("page", argv, lambda workload, args: render(workload, args.root, args.results, args.out[0]))


if __name__ == "__main__":
    cli.run(main)
