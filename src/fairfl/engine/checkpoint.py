"""Checkpoints: everything that a run needs to go on, written at most every so many seconds.

A checkpoint is no declared output (Snakemake deletes those before a restart). It carries the fingerprint of
the run; a file of another fingerprint or a damaged one is dropped with a message, never used.
"""

import time
from pathlib import Path
from typing import Any

import torch

from fairfl import atomic


class Checkpoint:
    """One file, written in one step; `interval` in seconds."""

    def __init__(self, path: Path, fingerprint: str, interval: float) -> None:
        self.path, self.fingerprint, self.interval = path, fingerprint, interval
        self.last = time.monotonic()

    def restore(self) -> dict[str, Any] | None:
        """The saved state, or None if there is none for this fingerprint."""
        if not self.path.exists():
            return None
        try:
            # weights_only: a checkpoint is data; nothing in it may run.
            saved = torch.load(self.path, weights_only=True, map_location="cpu")
            if saved["fingerprint"] == self.fingerprint:
                return saved["state"]
            reason = "belongs to another spec or code version"
        except Exception as error:
            reason = f"cannot be read ({type(error).__name__})"
        print(f"checkpoint {self.path.name} {reason}: starting from round 0", flush=True)
        return None

    def due(self) -> bool:
        return time.monotonic() - self.last >= self.interval

    def save(self, state: dict[str, Any]) -> None:
        with atomic.replacing(self.path) as temporary:
            torch.save({"fingerprint": self.fingerprint, "state": state}, temporary)
        self.last = time.monotonic()

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
