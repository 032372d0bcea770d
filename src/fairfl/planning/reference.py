"""What was measured or published elsewhere, in reference.json: data sets, processors, how efficient models are."""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def reference() -> dict[str, Any]:
    """The content of reference.json; its key `about` explains the others."""
    return json.loads(Path(__file__).with_name("reference.json").read_bytes())
