"""Checkpoints: everything that a run needs to go on, written at most every `seconds` seconds.

A checkpoint is not a declared output (Snakemake deletes those before a restart). It carries the fingerprint of
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
from fairfl.simulation import generators

# Of the time, at most this is spent on saving, whatever the interval: what a kill costs is rare and bounded by the
# interval, what saving costs is paid by every run.
SHARE = 0.02


class _Unusable(Exception):
    """A file that is not of this run."""


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
        """Return the state to go on from, None for the start."""
        newest = self._usable(self.path)
        # Damaged, or moved by a save that was killed before the new file had its name: the one before it is left.
        last = newest or self._usable(self.before)
        if last is None:
            return None
        if newest is None or newest["processor"] != _processor():
            print(
                f"resuming from {last['at']}, which {last['processor']} computed: not compared",
                flush=True,
            )
            return _state_of(last)
        self.reached, before = newest, self._usable(self.before)
        at = before["at"] if before else 0
        print(f"resuming: {at} to {newest['at']} once more, to compare", flush=True)
        return _state_of(before) if before else None

    def step(
        self, at: int, state: Callable[[], dict[str, Any]], load: Callable[[dict[str, Any]], None]
    ) -> None:
        """After each step of a run: save its state if that is due; where the run was saved before, compare with that.

        Raises PluginError if a run that resumes has other bits there.
        """
        if self.reached is None:
            if self.due():
                self.save(at, state())
        elif at == self.reached["at"]:
            self._compare(state(), self.reached)
            load(_state_of(self.reached))
            self.reached, self.last = None, time.monotonic()

    def _compare(self, now: dict[str, Any], saved: dict[str, Any]) -> None:
        if _bits(generators.state()["cuda"]) != _bits(saved["generators"]["cuda"]):
            words = "the GPU has drawn more or fewer random numbers in between"
            print(f"not compared: {words}", flush=True)
        elif differ := {at for at, _ in _bits(now) ^ _bits(saved["state"])}:
            raise PluginError(
                f"played again in a new process, {saved['at']} has other bits in {few(sorted(differ))}: something is "
                "remembered that is not in the state (a variable of the module or class, an attribute, a cache, the "
                f"clock); to begin again: rm {self.path} {self.before}"
            )

    def _usable(self, path: Path) -> dict[str, Any] | None:
        """Return what was saved, or None if there is nothing for this fingerprint; then the file is missing, too."""
        if not path.exists():
            return None
        try:
            return self._read(path)
        except _Unusable as error:
            defect = str(error)
        except Exception as error:  # torch.load raises whatever the bytes lead it to
            defect = f"cannot be read ({type(error).__name__})"
        print(f"checkpoint {path.name} {defect}: deleted", flush=True)
        path.unlink()
        return None

    @opened.by_fairfl()
    def _read(self, path: Path) -> dict[str, Any]:
        """Return what was saved. Raises _Unusable with the reason."""
        # torch does not look at the checksums that it writes.
        with zipfile.ZipFile(path) as file:
            if file.testzip() is not None:
                raise _Unusable("is damaged")
        # weights_only: a checkpoint is data; nothing in it may run.
        saved = torch.load(path, weights_only=True, map_location="cpu")
        if not isinstance(saved, dict) or not isinstance(saved.get("state"), dict):
            raise _Unusable("holds no state")
        if saved.get("fingerprint") != self.fingerprint:
            raise _Unusable("belongs to another spec or code version")
        return saved

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


def _state_of(saved: dict[str, Any]) -> dict[str, Any]:
    """Return the state; the global generators go on from there, too."""
    generators.restore(saved["generators"])
    state: dict[str, Any] = saved["state"]
    return state


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
