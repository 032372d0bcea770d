"""python -m fairfl.jobs.page: write the report page."""

from typing import TYPE_CHECKING, Any

from fairfl.experiments.workload import load_workload
from fairfl.jobs import summary_spec
from fairfl.runtime import atomic, cli, job

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(workload: "Workload") -> dict[str, Any]:
    """What of the configuration and the papers it depends on."""
    return summary_spec.spec(workload)


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.page.page import render  # here: the planner must not import jinja2

    args = job.summary_arguments("Write the report page.", argv)
    with job.run_context(args, args.out):
        workload = load_workload(args.root, args.config)
        atomic.write_text(args.out, render(workload, args.results, args.out))


if __name__ == "__main__":
    cli.run(main)
