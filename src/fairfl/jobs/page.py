"""python -m fairfl.jobs.page: write the report page."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fairfl.jobs import summary
from fairfl.runtime import atomic, cli

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload

spec = summary.spec


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.page.page import render  # here: the planner must not import jinja2

    summary.write("page", argv, lambda workload, args: render(workload, args.root, args.results, args.out[0]))


def write_without(workload: "Workload", root: Path, results: Path, out: Path, logs: Mapping[str, Path]) -> None:
    """Write the page without tables and figures that failed, with the reason that the log of each gives."""
    from fairfl.reporting.page.page import render

    atomic.write_text(out, render(workload, root, results, out, {name: _reason(log) for name, log in logs.items()}))


def _reason(log: Path) -> str:
    """The last line of a log that tells an error, else its last line."""
    lines = log.read_text(errors="replace").split("\n") if log.is_file() else []
    said = list(filter(str.strip, lines)) or ["its log is empty"]
    return next((line for line in reversed(said) if line.startswith("error: ")), said[-1]).removeprefix("error: ")


if __name__ == "__main__":
    cli.run(main)
