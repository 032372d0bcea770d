"""How fast this machine multiplies matrices on one core, measured once for a second and then remembered."""

import contextlib
import json
import time
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fairfl.runtime import atomic
from fairfl.runtime.machine import cpu_name

SIDE, SECONDS = 1024, 1.0
REMEMBERED = Path("results/speed.json")


def gflops() -> float:
    """GFLOP/s of this processor, as results/speed.json remembers it; delete that file to measure again."""
    here = {"processor": cpu_name(), "torch": version("torch")}
    try:
        known: dict[str, Any] = json.loads(REMEMBERED.read_bytes())
        if {key: known[key] for key in here} == here and known["gflops"] > 0:
            return float(known["gflops"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    measured = round(_measured(), 1)
    atomic.write_text(REMEMBERED, json.dumps(here | {"gflops": measured}) + "\n")
    return measured


@cache
def _measured() -> float:
    """By torch's BLAS or by oneDNN, whichever is faster, as trainings take the faster one too.

    The shortest of many products counts, in seconds of the processor: on a busy machine another process has the core
    during each of them.
    """
    import torch

    with one_thread():
        left, right = torch.randn(2, SIDE, SIDE)
        products = [lambda: torch.mm(left, right)]
        if torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise"):
            products.append(lambda: torch.ops.mkldnn._linear_pointwise(left, right, None, "none", [], ""))
        shortest, end = float("inf"), time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            for product in products:
                started = time.thread_time()
                product()
                shortest = min(shortest, time.thread_time() - started)
    return 2 * SIDE**3 / shortest / 1e9


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """torch computes with one thread inside, as a job does: more wait for each other longer than small tensors take."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
