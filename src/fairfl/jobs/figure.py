"""python -m fairfl.jobs.figure: one figure as PDF, PNG and the CSV of exactly what it shows."""

from typing import Any

from fairfl.jobs import job, table
from fairfl.runtime import atomic, cli

spec = table.spec


def plugins(spec: dict[str, Any]) -> list[str]:
    """The module that the spec names, looked up at run time."""
    return [f"reporting.plots.{spec['artifact']['plot']}"]


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.artifact import ArtifactSpec
    from fairfl.reporting.figures import build  # here: the planner must not import matplotlib

    files = {kind: f"the figure as .{kind}" for kind in ("pdf", "png", "csv")}
    args, spec = job.parse(argv, "figure", ArtifactSpec, **files)
    with job.run_context(args, args.csv, args.pdf, args.png):
        pdf, png, text = build(spec)
        atomic.write_bytes(args.pdf, pdf)
        atomic.write_bytes(args.png, png)
        atomic.write_text(args.csv, text)


if __name__ == "__main__":
    cli.run(main)
