"""The id of a job's result: a hash of its spec. Separate from the import graph, which jobs do not need."""

import hashlib
import json
from typing import Any


def canonical(spec: Any) -> str:
    """One JSON text per value: sorted keys, no spaces. Raises ValueError on NaN."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(data: bytes) -> str:
    """First 16 hex digits of the sha256."""
    return hashlib.sha256(data).hexdigest()[:16]


def fingerprint(spec: Any) -> str:
    """Digest of a job's canonical spec (which includes its code hashes)."""
    return digest(canonical(spec).encode())
