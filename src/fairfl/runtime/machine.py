"""The machine that a job runs on, by the name of what computes. Cheap to import: torch only where there is a GPU."""

import platform
import re
from pathlib import Path


def cpu_name() -> str:
    """'AMD EPYC 7763 64-Core Processor'; the architecture where the system does not tell."""
    info = Path("/proc/cpuinfo")
    match = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.M) if info.exists() else None
    return match[1].strip() if match else platform.processor() or platform.machine()


def processor(device: str) -> str:
    """Name of the GPU on device "cuda", else of the CPU."""
    if device != "cuda":
        return cpu_name()
    import torch

    return torch.cuda.get_device_name()
