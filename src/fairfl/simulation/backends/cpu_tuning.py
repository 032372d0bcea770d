"""How dense models run on this kind of CPU: what was measured there, never a timing during a run.

`make bench ARGS=--tune` measures and writes cpu_tuning.json. Its values decide in which order sums are taken, so they
move a result by rounding, as another CPU does. On one kind of CPU results are equal to the byte.
"""

import json
import math
import platform
import re
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import torch

from fairfl.runtime import opened

READS = ("cpu_tuning.json",)
FILE = Path(__file__).with_name(*READS)


@dataclass(frozen=True)
class CpuTuning:
    """Rules by shape. Multiply-adds are of one product, samples x inputs x outputs; infinity means never."""

    # Multiply-adds of a product from which oneDNN is quicker than torch's BLAS. MKL keeps to AVX2 on an AMD CPU.
    onednn_from: float = math.inf
    # Multiply-adds of a model's largest product from which it trains alone, so that its values stay in the caches.
    alone_from: float = math.inf
    # Bytes of parameters of the models that train as one stack.
    stack_bytes: float = 4 * 2**20
    # Outputs of a linear model from which its full batches are stored as columns too, X^T beside X, for the forward
    # product W X^T; the gradient P^T X takes the rows. Never where oneDNN takes the products.
    columns_from: float = math.inf
    # Samples of several steps that share a pass over the first layer's weights, for each output of that layer; 0: none
    # (fairfl.simulation.backends.dense_kernels.DelayedLinear).
    pass_share: float = 0.0


@opened.by_fairfl()
def kind() -> str:
    """Vendor and widest vector instructions that torch uses: "AuthenticAMD AVX512"."""
    info = Path("/proc/cpuinfo")
    vendor = re.search(r"^vendor_id\s*:\s*(\S+)", info.read_text(), re.M) if info.exists() else None
    return (
        f"{vendor[1] if vendor else platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    )


@cache
def tuning() -> CpuTuning:
    """Rules measured on this kind of CPU; the defaults where nothing was."""
    measured = json.loads(FILE.read_bytes()).get(kind(), {})
    return CpuTuning(
        **{
            field.name: float(measured[field.name])
            for field in fields(CpuTuning)
            if field.name in measured
        }
    )
