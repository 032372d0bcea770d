"""python -m fairfl.jobs.page: write the report page."""

from typing import TYPE_CHECKING, Any

from fairfl.jobs import summary
from fairfl.runtime import cli

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(workload: "Workload") -> dict[str, Any]:
    """What of the configuration and the papers it depends on."""
    return summary.spec(workload)


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.page.page import render  # here: the planner must not import jinja2

    summary.write("page", argv, lambda workload, args: render(workload, args.results, args.out))


if __name__ == "__main__":
    cli.run(main)
