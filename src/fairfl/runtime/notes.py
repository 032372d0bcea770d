"""JSON files that a plan can do without: what one notes for the next one, to save time, and what jobs have taken."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairfl.runtime import atomic


def read(file: Path) -> dict[str, Any]:
    """The JSON object in a file; {} without it, or if it is damaged."""
    try:
        return dict(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}


def write(file: Path, notes: Mapping[str, Any]) -> None:
    """Write notes in the place of a file's; where nothing can be written the next plan does without."""
    with contextlib.suppress(OSError):
        atomic.write_text(file, json.dumps(notes))
