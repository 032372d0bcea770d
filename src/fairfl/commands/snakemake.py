"""What the commands say to Snakemake."""

import io
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from typing import Any

_CORES = re.compile(r"--cores(=.*)?|--jobs(=.*)?|-[cj]\d*|--(workflow-)?profile(=.*)?")


def with_cores(words: Sequence[str]) -> list[str]:
    """Options of Snakemake, with all cores unless they say otherwise."""
    return [*words, *([] if any(map(_CORES.fullmatch, words)) else ["--cores", "all"])]


def run(words: Sequence[str]) -> None:
    """Snakemake's command line in this process. Ends it.

    Of its profile Snakemake speaks before any logger is there: that line is left out, it says nothing of the work.
    """
    from snakemake import cli

    original = cli.parse_args

    def parse_args(argv: Any) -> Any:
        said = io.StringIO()
        try:
            with redirect_stderr(said):
                return original(argv)
        finally:
            sys.stderr.write(re.sub(r"^Using .* for setting default command line arguments\.\n", "", said.getvalue()))

    cli.parse_args = parse_args
    sys.argv = ["snakemake", *words]
    cli.main(list(words))
