"""Reading what jobs wrote as JSON: a damaged record is one clear line that names the file."""

import json
from pathlib import Path
from typing import Any

from fairfl.errors import FairflError

# What fairfl.tune writes and a tuned run takes.
CHOICE = ("setting", "algorithm", "learning_rate", "batch_size", "hyperparameters")


def read(path: Path, *keys: str) -> dict[str, Any]:
    """The record at `path`. Raises OSError if it cannot be read, FairflError if it lacks one of `keys`."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise FairflError(f"{path}: damaged (no JSON); delete it and run again") from None
    missing = [key for key in keys if not isinstance(record, dict) or key not in record]
    if missing or not isinstance(record, dict):
        raise FairflError(f"{path}: damaged (no {', '.join(missing)}); delete it and run again")
    return record
