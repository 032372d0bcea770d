"""What the commands say to Snakemake."""

import re
from collections.abc import Sequence

_CORES = re.compile(r"--cores(=.*)?|--jobs(=.*)?|-[cj]\d*|--(workflow-)?profile(=.*)?")


def with_cores(words: Sequence[str]) -> list[str]:
    """Options of Snakemake, with all cores unless they say otherwise."""
    return [*words, *([] if any(map(_CORES.fullmatch, words)) else ["--cores", "all"])]
