"""The machine that a job runs on, by the name of what computes. Cheap to import: torch only where there is a GPU."""

import math
import os
import platform
import re
from functools import cache
from pathlib import Path

from fairfl.runtime import opened

INFO = Path("/proc/cpuinfo")
# The widest set of vector instructions decides how a BLAS adds up, so which last bits a number has.
_VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "asimd": "NEON"}
# By which users limit it.
_LIMITS = (
    "ATEN_CPU_CAPABILITY",
    "DNNL_MAX_CPU_ISA",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
)


@cache
@opened.by_fairfl()
def cpu_name() -> str:
    """'AMD EPYC (family 25, model 17, AVX-512)'; the architecture where the system does not tell.

    Virtual machines often hide the model behind a family's name, under which two processors round differently and one
    is twice as fast as the other: so the generation stands in the name.
    """
    text = INFO.read_text() if INFO.exists() else ""
    fields = dict(
        reversed(re.findall(r"^([\w ]+?)\s*:[ \t]*(.*?)[ \t]*$", text, re.M))
    )  # of the first core
    name = fields.get("model name") or platform.processor() or platform.machine()
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    facts = [
        f"{word} {fields[key]}"
        for word, key in (("family", "cpu family"), ("model", "model"))
        if fields.get(key)
    ]
    facts += [vectors for flag, vectors in _VECTORS.items() if flag in flags][:1]
    return f"{name} ({', '.join(facts)})" if facts else name


def instructions() -> str:
    """'AVX-512', or 'AVX-512 ATEN_CPU_CAPABILITY=avx2'; the architecture where the system does not tell."""
    name = cpu_name()
    widest = next(
        (vectors for vectors in _VECTORS.values() if name.endswith(f"{vectors})")),
        platform.machine(),
    )
    return " ".join(
        [widest, *(f"{limit}={os.environ[limit]}" for limit in _LIMITS if os.environ.get(limit))]
    )


def memory_mib() -> float:
    """Physical memory of this machine; infinite where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    except (AttributeError, OSError, ValueError):
        return math.inf


def processor(device: str) -> str:
    """Name of the GPU on device "cuda", else of the CPU."""
    if device != "cuda":
        return cpu_name()
    import torch

    return torch.cuda.get_device_name()
