"""The arithmetic of a run: what moves the last bits of its numbers, beside its spec. docs/numbers.md says how far.

Two are different if a part that both have is. One that lacks a part is of an old record, or of a plan for other
machines: nothing is known, and nothing is shown.
"""

from argparse import Namespace
from functools import cache
from importlib import metadata

from fairfl.runtime import gpu_slots, machine

Arithmetic = dict[str, str]  # part -> value
PARTS = ("torch", "device", "instructions", "threads", "backend")
version = cache(metadata.version)  # of a package; the start server asks for all its jobs


def of(device: str, threads: int, backend: str = "", elsewhere: bool = False) -> Arithmetic:
    """Arithmetic of jobs with these options (config.yaml). `elsewhere`: on machines of which nothing is known."""
    kind = (
        device
        if device != "auto"
        else ""
        if elsewhere
        else "cuda"
        if gpu_slots.visible()
        else "cpu"
    )
    parts = {"torch": version("torch"), "device": kind, "backend": backend}
    if kind != "cuda":  # there the sums are the GPU's
        parts |= {
            "threads": str(threads),
            "instructions": "" if elsewhere else machine.instructions(),
        }
    return {part: parts[part] for part in PARTS if parts.get(part)}


def of_options(args: Namespace) -> Arithmetic:
    """Arithmetic of a job with these options."""
    return of(
        getattr(args, "device", "auto"), getattr(args, "threads", 1), getattr(args, "backend", "")
    )


def differences(then: Arithmetic, now: Arithmetic) -> list[tuple[str, str, str]]:
    """(part, then, now) of each part that differs."""
    return [
        (part, then[part], now[part])
        for part in PARTS
        if part in then and part in now and then[part] != now[part]
    ]


def text(arithmetic: Arithmetic) -> str:
    """'torch 2.15.0; device cpu; instructions AVX-512; threads 1; backend auto'"""
    return "; ".join(f"{part} {value}" for part, value in arithmetic.items())


def parsed(text: str) -> Arithmetic:
    """The reverse."""
    return dict(part.split(" ", 1) for part in text.split("; ")) if text else {}
