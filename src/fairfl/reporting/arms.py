"""Hyper-parameters that compare: 'q=1.0', 'q=1' and {'q': 1} are the same arm of an algorithm."""

import re
from collections.abc import Mapping
from typing import Any

from fairfl.runtime.errors import FairflError

Arm = tuple[tuple[str, float | str], ...]


def _level(value: object) -> float | str:
    """A value to compare by: a number if it reads as one (true is 1), else the word."""
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    try:
        return float(text)
    except ValueError:
        return text


def arm(hyperparameters: str | Mapping[str, Any]) -> Arm:
    """Comparable form of 'q=1.0' or {'q': 1}: sorted by key, values numeric where they can be.

    Pairs in a text are separated by ',' or ';'. Raises FairflError on a pair without '=' or a doubled key.
    """
    if isinstance(hyperparameters, Mapping):
        return tuple(sorted((key, _level(value)) for key, value in hyperparameters.items()))
    pairs: dict[str, float | str] = {}
    for part in re.split("[,;]", hyperparameters):
        if not part.strip():
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise FairflError(f"hyperparameters {hyperparameters!r}: {part.strip()!r} is not key=value")
        if key in pairs:
            raise FairflError(f"hyperparameters {hyperparameters!r}: {key!r} stands twice")
        pairs[key] = _level(value)
    return tuple(sorted(pairs.items()))


def spelled(hyperparameters: Mapping[str, Any]) -> str:
    """Text form used in all CSV files: 'alpha=0.1,tau=10', sorted by key."""
    return ",".join(f"{key}={value}" for key, value in sorted(hyperparameters.items()))


def arm_text(algorithm: str, levels: Arm) -> str:
    """Readable form for messages: 'eagle(lambda=1)', 'fedavg'."""
    inner = ", ".join(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in levels)
    return f"{algorithm}({inner})" if inner else algorithm
