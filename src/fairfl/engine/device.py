"""Choice of device and of deterministic arithmetic."""

import os

import torch

from fairfl.errors import FairflError


def choose(name: str, threads: int) -> torch.device:
    """Device for "auto", "cpu" or "cuda"; sets threads and determinism. Raises FairflError without a GPU."""
    if name == "cuda" and not torch.cuda.is_available():
        raise FairflError("config.yaml: device: 'cuda' is asked for, but torch finds no GPU; use 'auto' or 'cpu'")
    torch.set_num_threads(threads)
    # cuBLAS needs this for repeatable sums; it must be set before the first CUDA call.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # The same switch as use_deterministic_algorithms(True, warn_only=True), which imports inductor: a second.
    torch.set_deterministic_debug_mode("warn")
    torch.utils.deterministic.fill_uninitialized_memory = False  # costs time, and no memory is read unwritten
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")
