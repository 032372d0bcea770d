"""python -m fairfl.jobs.figure: one figure as PDF, PNG and the CSV of exactly what it shows."""

from typing import TYPE_CHECKING, Any

from fairfl.runtime import atomic, cli, job

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(
    workload: "Workload", paper: str, artifact: str, files: dict[str, dict[str, str]]
) -> dict[str, Any]:
    """What the artifact shows, and the files of its numbers by setting, run or choice."""
    from fairfl.reporting.artifact import artifact_spec

    return artifact_spec(workload, f"{paper}_{artifact}", files).model_dump(mode="json")


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
