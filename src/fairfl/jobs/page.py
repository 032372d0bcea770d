"""python -m fairfl.jobs.page: write the report page."""

from fairfl.experiments.workload import load_workload
from fairfl.runtime import atomic, cli, job


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.page.page import render  # here: the planner must not import jinja2

    args = job.summary_arguments("Write the report page.", argv)
    with job.run_context(args, args.out):
        workload = load_workload(args.root, args.config)
        atomic.write_text(args.out, render(workload, args.results, args.out))


if __name__ == "__main__":
    cli.run(main)
