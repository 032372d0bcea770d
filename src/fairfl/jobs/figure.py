"""python -m fairfl.jobs.figure: one figure as PDF, PNG and the CSV of exactly what it shows."""

import argparse
from pathlib import Path

from fairfl.runtime import atomic, cli, job


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.artifact import ArtifactSpec
    from fairfl.reporting.figures import build  # here: the planner must not import matplotlib

    parser = argparse.ArgumentParser(prog="python -m fairfl.jobs.figure", description=__doc__)
    job.arguments(parser)
    for kind in ("pdf", "png", "csv"):
        parser.add_argument(f"--{kind}", required=True, type=Path, help=f"the figure as .{kind}")
    args = parser.parse_args(argv)
    spec = job.spec_of(args, ArtifactSpec)
    with job.run_context(args, args.csv, args.pdf, args.png):
        pdf, png, text = build(spec)
        atomic.write_bytes(args.pdf, pdf)
        atomic.write_bytes(args.png, png)
        atomic.write_text(args.csv, text)


if __name__ == "__main__":
    cli.run(main)
