"""What the commands say to Snakemake."""

import argparse
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


def config_of(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """KEY=VALUE of all `--config`, and the other words. Of a key that is given twice the later value counts.

    Snakemake's own parser forgets every `--config` but the last.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", "-C", nargs="*", action="extend", default=[])
    found, others = parser.parse_known_args(words)
    return found.config, others


def run(words: Sequence[str]) -> None:
    """Snakemake's command line in this process. Ends it.

    Of its profile Snakemake speaks before any logger is there: that line is left out, it says nothing of the work.
    """
    from snakemake import cli

    original = cli.parse_args
    config, _ = config_of(words)

    def parse_args(argv: Any) -> Any:
        said = io.StringIO()
        try:
            with redirect_stderr(said):
                parser, args = original(argv)
        finally:
            sys.stderr.write(re.sub(r"^Using .* for setting default command line arguments\.\n", "", said.getvalue()))
        args.config = config or args.config
        return parser, args

    cli.parse_args = parse_args
    sys.argv = ["snakemake", *words]
    cli.main(list(words))
