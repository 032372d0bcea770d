"""Checkpoints: everything that a run needs to go on, written at most every so many seconds.

A checkpoint is no declared output (Snakemake deletes those before a restart). It carries the fingerprint of
the run; a file of another fingerprint or a damaged one is deleted with a message, never used. There is one per run,
and none when the run is done.
"""

import time
import zipfile
from pathlib import Path
from typing import Any

import torch

from fairfl.runtime import atomic, generators

# Of the time, at most this is spent on saving, whatever the interval: what a kill costs is rare and bounded by the
# interval, what saving costs is paid by every run.
SHARE = 0.02


class Checkpoint:
    """One file, written in one step, with the global generators.

    `interval` in seconds, longer if saving takes more than SHARE of it.
    """

    def __init__(self, path: Path, fingerprint: str, interval: float) -> None:
        self.path, self.fingerprint, self.interval = path, fingerprint, interval
        self.last = self.checked = (
            time.monotonic()
        )  # when the last save ended, when `due` was last called
        self.cost = 0.0  # of the last save, seconds

    def restore(self) -> dict[str, Any] | None:
        """The saved state, or None if there is none for this fingerprint; then there is no file either."""
        if not self.path.exists():
            return None
        try:
            state, defect = self._read()
        except Exception as error:  # torch.load raises whatever the bytes lead it to
            state, defect = None, f"cannot be read ({type(error).__name__})"
        if state is None:
            print(f"checkpoint {self.path.name} {defect}: starting from round 0", flush=True)
            self.remove()
        return state

    def _read(self) -> tuple[dict[str, Any] | None, str]:
        """The saved state, or None and why the file cannot be used."""
        # torch does not look at the checksums that it writes.
        with zipfile.ZipFile(self.path) as file:
            if file.testzip() is not None:
                return None, "is damaged"
        # weights_only: a checkpoint is data; nothing in it may run.
        saved = torch.load(self.path, weights_only=True, map_location="cpu")
        if not isinstance(saved, dict) or not isinstance(saved.get("state"), dict):
            return None, "holds no state"
        if saved.get("fingerprint") != self.fingerprint:
            return None, "belongs to another spec or code version"
        generators.restore(saved["generators"])
        return saved["state"], ""

    def due(self) -> bool:
        self.checked = time.monotonic()
        return self.checked - self.last >= max(self.interval, self.cost / SHARE)

    def save(self, state: dict[str, Any]) -> None:
        """Its cost counts from when it was due: to bring the state from the device is part of it."""
        saved = {"fingerprint": self.fingerprint, "state": state, "generators": generators.state()}
        with atomic.replacing(self.path) as temporary, temporary.open("wb") as file:
            try:
                torch.save(saved, file)
            except RuntimeError as error:
                # torch puts an error of its own in place of the reason, say a full disk.
                if isinstance(error.__context__, OSError):
                    raise error.__context__ from None
                raise
        self.last = time.monotonic()
        self.cost = self.last - self.checked

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
