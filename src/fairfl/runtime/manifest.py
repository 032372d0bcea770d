"""What a job writes beside its numbers: spec, fingerprint, versions, machine, time and memory."""

import platform
import resource
import sys
import time
from typing import Any

from fairfl.runtime.arithmetic import version
from fairfl.runtime.fingerprint import fingerprint
from fairfl.values.json_text import from_json


def manifest(spec: str, started: float, **more: Any) -> dict[str, Any]:
    """Dictionary for summary.json. `spec` is the job's --spec (JSON), `started` time.monotonic() at the start."""
    content = from_json(spec)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "spec": content,
        "fingerprint": fingerprint(content),
        "versions": {
            "python": platform.python_version(),
            "torch": version("torch"),
            "numpy": version("numpy"),
        },
        "host": platform.node(),
        "machine": platform.machine(),
        "seconds": round(time.monotonic() - started, 3),
        "peak_memory_mib": round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1),
        **more,
    }
