"""Results that are kept: what a job is about to replace, until it has, and what edits have superseded, within a bound.

Snakemake removes the outputs of a job before it starts and again when it fails. So they are moved away first, with
their record: `results/<scale>/kept/<job>/<key>/` has `record` and the files, numbered in the order of the record. A job
that leaves no new result gets its old one back at the end. One that is planned again with a spec and inputs whose
result is kept does not run: that result changes places with the one that lies there.
"""

import contextlib
import os
import shutil
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairfl.runtime import records
from fairfl.runtime.fingerprint import fingerprint

FOLDER = "kept"  # in a folder of results


@dataclass(frozen=True)
class Kept:
    """One result: its folder and its record."""

    folder: Path
    record: dict[str, Any]

    def files(self) -> Iterator[tuple[Path, str]]:
        """Each file: where it lies and where it belongs. A move that was killed has left some where they belong."""
        for place, path in self._places():
            yield (place if place.exists() else Path(path)), path

    def _places(self) -> Iterator[tuple[Path, str]]:
        return (
            (self.folder / str(number), path) for number, path in enumerate(self.record["outputs"])
        )

    @property
    def whole(self) -> bool:
        """True if all its files are as their job left them."""
        left = {str(place): self.record["outputs"][path] for place, path in self.files()}
        return not any(records.damage(place, {"outputs": left}) for place in left)

    def gather(self) -> None:
        """Complete a move that was killed: what still lies where it belongs is in the way of the job."""
        left = [(place, path) for place, path in self._places() if not place.exists()]
        if left and self.whole:
            for place, path in left:
                os.replace(path, place)

    def move_back(self, record: Path) -> None:
        """Move it to where it belongs, the record last. That needs no space: the disk may be full."""
        for place, path in self.files():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(place, path)
        record.parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.folder / "record", record)
        shutil.rmtree(self.folder, ignore_errors=True)


def at(folder: Path) -> Kept | None:
    """Return what is kept in this folder; None if nothing is that can be used."""
    record = records.read(folder / "record")
    return Kept(folder, record) if record else None


def of(results: str, job: str) -> list[Kept]:
    """All results of a job that are kept in a folder of results, the newest first."""
    try:
        folders = sorted(Path(results, FOLDER, job).iterdir(), key=os.path.getmtime, reverse=True)
    except OSError:
        return []
    return [result for folder in folders if (result := at(folder))]


def keep(results: str, job: str, place: Path, damaged: bool) -> Kept | None:
    """Move the result of a job that is about to run out of its way; None without one that could be kept.

    `place` is where its record lies; `damaged`: some files may be; those stay beside, under another name.
    """
    record = records.read(place)
    if record is None:
        return None
    for path in record["outputs"] if damaged else ():
        if os.path.exists(path) and records.damage(path, record):
            records.set_aside(path)
    if not all(map(os.path.exists, record["outputs"])):
        return None
    key = fingerprint([record["fingerprint"], record["inputs"], records.results_hash(record)])
    folder = Path(results, FOLDER, job, key)
    if earlier := at(
        folder
    ):  # since a command that was killed; what lies in its place may have been damaged since
        earlier.gather()
        if earlier.whole:
            for path in (str(place), *record["outputs"]):
                os.unlink(path)
            return earlier
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.replace(place, folder / "record")  # first, so that a kill leaves nothing without a record
    for number, path in enumerate(record["outputs"]):
        os.replace(path, folder / str(number))
    return Kept(folder, record)


def trim(results: str, most: int, spared: Container[Path] = ()) -> None:
    """Delete the oldest results that are kept in a folder of results until the others take `most` bytes at most.

    `spared` are folders that somebody needs; they do not count.
    """
    left_over = (folder for folder in folders(results) if folder not in spared)
    by_age = sorted(((os.path.getmtime(folder), folder) for folder in left_over), reverse=True)
    left = most
    for _, folder in by_age:
        left -= sum(file.stat().st_size for file in os.scandir(folder))
        if left < 0:
            shutil.rmtree(folder, ignore_errors=True)
    for parent, _, _ in os.walk(Path(results, FOLDER), topdown=False):
        with contextlib.suppress(OSError):  # it is not empty
            os.rmdir(parent)


def folders(results: str) -> list[Path]:
    """Folders of all results that are kept in a folder of results."""
    return [Path(folder) for folder, _, files in os.walk(Path(results, FOLDER)) if files]
