"""Checkpoints: everything that a run needs to go on, written at most every so many seconds.

A checkpoint is no declared output (Snakemake deletes those before a restart). It carries the fingerprint of
the run; a file of another fingerprint or a damaged one is deleted with a message, never used. There are the last two of
a run, and none when it is done.

A run that resumes plays from the last but one (the start, where there is only one) to the last, and is to have its bits
there: where it has others, something that moves its numbers is not in its state, and was lost with the process.
"""

import hashlib
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from fairfl.runtime import atomic, machine, opened
from fairfl.runtime.errors import PluginError
from fairfl.runtime.plain_data import few, format_place, leaves
from fairfl.values import generators

# Of the time, at most this is spent on saving, whatever the interval: what a kill costs is rare and bounded by the
# interval, what saving costs is paid by every run.
SHARE = 0.02


class Checkpoint:
    """A file, written in one step, with the global generators, and the file before it.

    `interval` in seconds, longer if saving takes more than SHARE of it.
    """

    def __init__(self, path: Path, fingerprint: str, interval: float) -> None:
        self.path, self.fingerprint, self.interval = path, fingerprint, interval
        self.before = path.with_name(f".{path.name}.before")
        self.reached: dict[str, Any] | None = None  # what the run is to come to again
        # When the last save ended, when `due` was last called.
        self.last = self.checked = time.monotonic()
        self.cost = 0.0  # of the last save, seconds

    def restore(self) -> dict[str, Any] | None:
        """The state to go on from, None for the start."""
        self.reached = self._usable(self.path)
        earlier = self._usable(self.before) if self.reached else None
        if self.reached and self.reached["processor"] != _processor():
            earlier, self.reached = self.reached, None
            print(
                f"resuming from {earlier['at']}, which {earlier['processor']} computed: not compared",
                flush=True,
            )
        elif self.reached:
            at = earlier["at"] if earlier else 0
            print(f"resuming: {at} to {self.reached['at']} once more, to compare", flush=True)
        if earlier is None:
            return None
        generators.restore(earlier["generators"])
        state: dict[str, Any] = earlier["state"]
        return state

    def step(
        self, at: int, state: Callable[[], dict[str, Any]], load: Callable[[dict[str, Any]], None]
    ) -> None:
        """After each step of a run: save its state if that is due; where the run was saved before, compare with that.

        Raises PluginError if a run that resumes has other bits there.
        """
        if self.reached is None and self.due():
            self.save(at, state())
        elif self.reached and at == self.reached["at"]:
            self._compare(state())
            load(self.reached["state"])
            generators.restore(self.reached["generators"])
            self.reached, self.last = None, time.monotonic()

    def _compare(self, now: dict[str, Any]) -> None:
        saved = self.reached or {}
        if _bits(generators.state()["cuda"]) != _bits(saved["generators"]["cuda"]):
            print(
                "not compared: the GPU has drawn more or fewer random numbers in between",
                flush=True,
            )
        elif differ := {at for at, _ in _bits(now) ^ _bits(saved["state"])}:
            raise PluginError(
                f"played again in a new process, {saved['at']} has other bits in {few(sorted(differ))}: something is "
                "remembered that is not in the state (a variable of the module or class, an attribute, a cache, the "
                f"clock); to begin again: rm {self.path}"
            )

    def _usable(self, path: Path) -> dict[str, Any] | None:
        """Return what was saved, or None if there is nothing for this fingerprint; then there is no file either."""
        if not path.exists():
            return None
        try:
            saved, defect = self._read(path)
        except Exception as error:  # torch.load raises whatever the bytes lead it to
            saved, defect = None, f"cannot be read ({type(error).__name__})"
        if saved is None:
            print(f"checkpoint {path.name} {defect}: starting from round 0", flush=True)
            path.unlink()
        return saved

    @opened.by_fairfl()
    def _read(self, path: Path) -> tuple[dict[str, Any] | None, str]:
        """Return what was saved, or None and why the file cannot be used."""
        # torch does not look at the checksums that it writes.
        with zipfile.ZipFile(path) as file:
            if file.testzip() is not None:
                return None, "is damaged"
        # weights_only: a checkpoint is data; nothing in it may run.
        saved = torch.load(path, weights_only=True, map_location="cpu")
        if not isinstance(saved, dict) or not isinstance(saved.get("state"), dict):
            return None, "holds no state"
        if saved.get("fingerprint") != self.fingerprint:
            return None, "belongs to another spec or code version"
        return saved, ""

    def due(self) -> bool:
        self.checked = time.monotonic()
        return self.checked - self.last >= max(self.interval, self.cost / SHARE)

    def save(self, at: int, state: dict[str, Any]) -> None:
        """Its cost counts from when it was due: to bring the state from the device is part of it."""
        saved = {
            "fingerprint": self.fingerprint,
            "at": at,
            "state": state,
            "processor": _processor(),
        }
        saved["generators"] = generators.state()
        with atomic.replacing(self.path) as temporary, temporary.open("wb") as file:
            try:
                torch.save(saved, file)
            except RuntimeError as error:
                # torch puts an error of its own in place of the reason, say a full disk.
                if isinstance(error.__context__, OSError):
                    raise error.__context__ from None
                raise
            if self.path.exists():
                os.replace(self.path, self.before)
        self.last = time.monotonic()
        self.cost = self.last - self.checked

    def remove(self) -> None:
        for path in (self.path, self.before):
            path.unlink(missing_ok=True)


def _processor() -> str:
    """The part of a machine that decides the last bits of a sum."""
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_initialized() else ""
    return f"{machine.cpu_name()} with {machine.instructions()}{gpu}"


def _bits(state: Any) -> set[tuple[str, str]]:
    """(place, value) of all that is in a state."""
    bits_of_all = set()
    for at, value in leaves(state):
        if isinstance(value, torch.Tensor):
            bits = value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
            value = value.dtype, value.shape, hashlib.sha256(bits).hexdigest()
        bits_of_all.add((format_place(at), repr(value)))
    return bits_of_all
