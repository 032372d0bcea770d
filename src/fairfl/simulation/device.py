"""Choice of device and of deterministic arithmetic, and the record of what a job has computed there."""

import json
import os
import platform
import resource
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import torch

from fairfl.runtime import arithmetic, atomic, gpu_slots, machine
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import fingerprint
from fairfl.simulation.backends import cuda_graph
from fairfl.values.json_text import from_json


def choose(
    name: str, threads: int, precision: str = "fp32", alone: bool = False, cuda_graphs: str = "auto"
) -> torch.device:
    """Device for "auto", "cpu" or "cuda"; sets threads, determinism and the GPU's arithmetic for float32 products.

    Of several GPUs the process gets one (fairfl.runtime.gpu_slots), with `alone` one that no other job uses; it may
    have to wait. tf32 and `cuda_graphs`, auto or off, make a difference on a GPU only.

    Raises FairflError if "cuda" is requested and there is no GPU.
    """
    if name != "cpu":
        gpu_slots.take(alone)  # first: the driver looks once which GPUs it may use
    if name == "cuda" and not torch.cuda.is_available():
        raise FairflError(
            "config.yaml: device: 'cuda' is asked for, but torch finds no GPU; use 'auto' or 'cpu'"
        )
    torch.set_num_threads(threads)
    cuda_graph.allow(cuda_graphs)
    # cuBLAS needs this for repeatable sums; it must be set before the first CUDA call. cuDNN's LSTMs need buffers of
    # one size, which they are; of the values that its documentation names, torch knows only the slow :16:8.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # The same switch as use_deterministic_algorithms(True, warn_only=True), which imports inductor: a second.
    torch.set_deterministic_debug_mode("warn")
    # torch lets convolutions and LSTMs use TF32 unless told otherwise.
    products = "tf32" if precision == "tf32" else "ieee"
    torch.backends.cuda.matmul.fp32_precision = products
    torch.backends.cudnn.conv.fp32_precision = products  # type: ignore[attr-defined]
    torch.backends.cudnn.rnn.fp32_precision = products  # type: ignore[attr-defined]
    # Filling memory costs time, and none is read unwritten.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def facts(chosen: torch.device) -> dict[str, str | int]:
    """Entries of a summary about the device that a job has computed on."""
    if chosen.type == "cpu":
        return {
            "device": "cpu",
            "processor": machine.cpu_name(),
            "threads": torch.get_num_threads(),
        }
    return {"device": torch.cuda.get_device_name(chosen), "cuda_graphs": cuda_graph.usage()}


def choose_for(args: Namespace, precision: str, alone: bool = False) -> torch.device:
    """`choose` by the options of a job."""
    return choose(args.device, args.threads, precision, alone, args.cuda_graphs)


def record(
    args: Namespace, path: Path, chosen: torch.device, started: float, /, **found: Any
) -> dict[str, Any]:
    """Write what a job found as JSON, with its spec, versions, machine, time and memory; the whole.

    `started`: time.monotonic() then.
    """
    spec = from_json(args.spec)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    whole = {
        "spec": spec,
        "fingerprint": fingerprint(spec),
        "versions": {
            "python": platform.python_version(),
            "torch": arithmetic.version("torch"),
            "numpy": arithmetic.version("numpy"),
        },
        "host": platform.node(),
        "machine": platform.machine(),
        "seconds": round(time.monotonic() - started, 3),
        "peak_memory_mib": round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1),
        **facts(chosen),
        "arithmetic": arithmetic.of_options(args),
        **found,
    }
    atomic.write_text(path, json.dumps(whole, indent=1, sort_keys=True) + "\n")
    return whole
