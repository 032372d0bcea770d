"""python -m fairfl.jobs.table: one table as CSV (tidy), Markdown and LaTeX (booktabs)."""

from typing import TYPE_CHECKING, Any

from fairfl.jobs import job
from fairfl.runtime import atomic, cli

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(
    workload: "Workload", paper: str, artifact: str, files: dict[str, dict[str, str]]
) -> dict[str, Any]:
    """Spec of an artifact, with the files of its numbers by setting, run or choice."""
    from fairfl.reporting.artifact import artifact_spec

    return artifact_spec(workload, f"{paper}_{artifact}", files).model_dump(mode="json")


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.artifact import ArtifactSpec  # here: the planner must not import pandas
    from fairfl.reporting.tables.table import table

    files = {kind: f"the table as .{kind}" for kind in ("csv", "md", "tex")}
    args, spec = job.parse(argv, "table", ArtifactSpec, **files)
    outputs = args.csv, args.md, args.tex
    with job.run_context(args, *outputs):
        for path, text in zip(outputs, table(spec), strict=True):
            atomic.write_text(path, text)


if __name__ == "__main__":
    cli.run(main)
