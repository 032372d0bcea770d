"""Reading what jobs wrote as JSON: a damaged record is one clear line that names the file."""

from pathlib import Path
from typing import Any

from fairfl.runtime import shape
from fairfl.runtime.errors import FairflError
from fairfl.runtime.shape import COUNT

# What fairfl.jobs.tune writes and a tuned run takes.
CHOICE = ("setting", "algorithm", "learning_rate", "batch_size", "hyperparameters")

_LOSS = (float, None)  # null: not finite
_LOSSES = {"epoch": int, "*": [_LOSS]}
# The shape of each key, whichever job writes it.
_SHAPES: dict[str, Any] = {
    "algorithm": str,
    "variants": [{"algorithm": str, "hyperparameters": str, "seconds": {"*": [float]}}],
    "batch_size": (COUNT, None),
    "best": _LOSSES,
    "chosen": dict,
    "clients": [range(2**31)],
    "data_source": str,
    "device": str,
    "files": [{"path": str, "bytes": COUNT}],
    "fingerprint": str,
    "hyperparameters": {"*": (bool, float, str)},
    "last": _LOSSES,
    "learning_rate": float,
    "loss_test": _LOSS,
    "loss_train": _LOSS,
    "loss_validation": _LOSS,
    "measures": {"*": float},
    "memberships": [[float]],
    "metrics": {"*": [float]},
    "processor": str,
    "setting": str,
    "spec": dict,
    "threads": COUNT,
    "value": _LOSS,
    "versions": {"*": str},
}


def read(path: Path, *keys: str) -> dict[str, Any]:
    """The record at `path`. Raises OSError if it cannot be read, FairflError if one of `keys` is missing or damaged."""
    try:
        return shape.parsed(path.read_bytes(), {key: _SHAPES[key] for key in keys}, "damaged")
    except FairflError as error:
        raise FairflError(f"{path}: {error}; delete it and run again") from None
