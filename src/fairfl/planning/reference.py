"""What was measured or published elsewhere, in reference.json: samples of data sets, GPUs, seconds of quick jobs."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fairfl.runtime.plain_data import span


@cache
def reference() -> dict[str, Any]:
    """The content of reference.json; its key `about` explains the others."""
    return json.loads(Path(__file__).with_name("reference.json").read_bytes())


def expected(scale: str, cores: int | None, jobs: Mapping[str, int]) -> str:
    """'; about 3 min 20 s' for these jobs of each rule; '' at a scale that was not measured, and on a cluster."""
    each = reference()["seconds"].get(scale)
    if cores is None or each is None:
        return ""
    return f"; about {span(sum(number * each.get(rule, 0.0) for rule, number in jobs.items()) / cores)}"
