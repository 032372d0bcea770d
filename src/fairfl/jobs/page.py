"""python -m fairfl.jobs.page: write the report page."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fairfl.jobs import summary
from fairfl.runtime import atomic, cli

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload

spec = summary.spec


def main(argv: list[str] | None = None) -> None:
    from fairfl.reporting.page.page import render  # here: the planner must not import jinja2

    summary.write(
        "page", argv, lambda workload, args: render(workload, args.root, args.results, args.out[0])
    )


def write_rest(
    workload: "Workload", root: Path, results: Path, out: Path, failed: Iterable[str]
) -> None:
    """Write the page of all but tables and figures whose jobs, by name, have failed, with the reasons."""
    from fairfl.reporting.page.page import render

    reasons = {
        name.partition("/")[2].replace("/", "_"): _reason(results / "logs" / f"{name}.log")
        for name in failed
    }
    atomic.write_text(out, render(workload, root, results, out, reasons))


def _reason(log: Path) -> str:
    """The last line of a log that names an error, else its last line."""
    lines = log.read_text(errors="replace").split("\n") if log.is_file() else []
    words = list(filter(str.strip, lines)) or ["its log is empty"]
    return next(
        (line for line in reversed(words) if line.startswith("error: ")), words[-1]
    ).removeprefix("error: ")


if __name__ == "__main__":
    cli.run(main)
