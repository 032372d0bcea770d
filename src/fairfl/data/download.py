"""Where raw files come from: local folder, then mirrors, then upstream.

A file is used only if :mod:`fairfl.data.checks` finds nothing wrong with it. One that fails is set
aside in the local folder as ``<name>.bad-<first 8 of its sha256>`` and is never used. A link in the local folder or in
a mirror may lead anywhere if there is a regular file; of a bad file behind a link only the link is set aside.
A transfer that breaks off is tried again twice and leaves nothing behind. Where no source
has a good copy, the form that :class:`RemoteFile` names as ``instead`` is looked for in the same way,
with a message. Where there is none of these either, a file with ``otherwise`` is done without, with a
message.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from fairfl.data.checks import Inspection, inspect
from fairfl.data.interface import RemoteFile
from fairfl.runtime import atomic
from fairfl.runtime.errors import SourceError

TIMEOUT_S = 30.0
RETRY_DELAYS_S = (1.0, 3.0)
_CHUNK = 1 << 20
_REMOTE = ("http://", "https://")
_AGENT = "fairfl/1 (research data fetcher)"
_unreachable: set[str] = set()  # hosts that this process does not try again


@dataclass(frozen=True)
class Copy:
    """A good file in the local folder and the kind of source it came from.

    The file is the one that was asked for or the form ``instead`` of it; ``source`` is "local
    folder", "mirror" or "upstream"; ``size`` is in bytes.
    """

    path: Path
    sha256: str
    size: int
    source: str


class _Unusable(Exception):
    """This source has no good copy; the message says why."""


class _Passing(_Unusable):
    """A failure that may be gone in a moment."""


def find(
    file: RemoteFile,
    dataset: str,
    folder: Path,
    mirrors: Sequence[str],
    offline: bool = False,
) -> Copy:
    """A good copy in the local folder, copied there from a mirror or upstream if needed; what happens goes to stderr.

    Args:
        folder: local folder; the file lies in ``<folder>/<data set>/<name>``.
        mirrors: local folders or http(s)/file addresses with the same layout, tried in order.
        offline: nothing but local folders and file addresses is asked.

    Raises:
        SourceError: no source has a good copy, each with the reason, or the local folder cannot be written.
    """
    try:
        return _Search(file, dataset, Path(folder), offline).run(mirrors)
    except SourceError as error:
        if file.instead is None:
            raise
        _say(f"{dataset}: no usable copy of {file.name}; looking for {file.instead.name} instead")
        try:
            return find(file.instead, dataset, folder, mirrors, offline)
        except SourceError as other:
            raise SourceError(f"{error}. Instead of it: {other}") from other


def find_all(
    files: Sequence[RemoteFile],
    dataset: str,
    folder: Path,
    mirrors: Sequence[str],
    offline: bool = False,
) -> list[Copy]:
    """:func:`find` for every file, in order; files that the data set can do without are left out if no place has them.

    Raises:
        SourceError: for the first file that fails; other failing files are named at its end.
    """
    copies, errors = [], {}
    for file in files:
        try:
            copies.append(find(file, dataset, folder, mirrors, offline))
        except SourceError as error:
            if file.otherwise:
                _say(f"{dataset}: goes without {file.name}: {file.otherwise}. The reason: {error}")
            else:
                errors[file.relative(dataset)] = error
    if errors:
        first, *others = errors
        also = f" (also without a usable copy: {', '.join(others)})" if others else ""
        raise SourceError(f"{errors[first]}{also}")
    return copies


def known(
    file: RemoteFile, dataset: str, folder: Path, mirrors: Sequence[str], offline: bool = False
) -> str | None:
    """sha256 of the copy that :func:`find` would take; None if that is not on this machine, or no good one is."""
    relative = file.relative(dataset)
    for place in (
        str(Path(folder, relative)),
        *(_in_mirror(str(mirror), relative) for mirror in mirrors),
    ):
        if place.startswith(_REMOTE):
            if offline:
                continue
            return None
        # What is unreadable or no good copy is passed over here as there, where somebody is told.
        with contextlib.suppress(OSError):
            if Path(place).is_file():
                seen = inspect(Path(place), file)
                if seen.problem is None:
                    return seen.sha256
    return None


def _in_mirror(mirror: str, relative: str) -> str:
    """Path or address of a file. Raises ValueError if the mirror is no address."""
    if urllib.parse.urlsplit(mirror).scheme in ("http", "https"):
        return f"{mirror.rstrip('/')}/{urllib.parse.quote(relative)}"
    if mirror.startswith("file:"):
        mirror = urllib.request.url2pathname(urllib.parse.urlsplit(mirror).path)
    # Not Path.expanduser: that raises where there is no such user; here the folder is missing then.
    return str(Path(os.path.expanduser(mirror), relative))


def _say(message: str) -> None:
    print(message, file=sys.stderr)


class _Search:
    """One file on its way through the sources."""

    def __init__(self, file: RemoteFile, dataset: str, folder: Path, offline: bool) -> None:
        self.file, self.dataset, self.offline = file, dataset, offline
        self.relative = file.relative(dataset)
        self.target = folder / self.relative
        self.tried: list[str] = []

    def run(self, mirrors: Sequence[str]) -> Copy:
        places = [("mirror", str(mirror)) for mirror in mirrors] + [
            ("upstream", url) for url in self.file.urls
        ]
        for source, place in [("local folder", str(self.target.parent)), *places]:
            try:
                return self._from(source, place)
            except _Unusable as error:
                self.tried.append(f"{source} {place}: {error}")
        raise SourceError(
            f"{self.dataset}: no usable copy of {self.file.name}. Tried: {'; '.join(self.tried)}. "
            f"What to do: put {self.file.name} into {self.target.parent}{os.sep}, or name a mirror in "
            "config.yaml (mirrors:), or run with scale=quick, which needs no files"
        )

    def _from(self, source: str, place: str) -> Copy:
        """Raises _Unusable, or SourceError if the local folder cannot be written."""
        if source == "local folder":
            return self._local()
        try:
            location = _in_mirror(place, self.relative) if source == "mirror" else place
        except ValueError as error:
            raise _Unusable(f"no address ({error})") from error
        if location.startswith(_REMOTE) and self.offline:
            raise _Unusable("not tried (offline)")
        try:
            return self._copy_in(source, place, location)
        except OSError as error:
            raise SourceError(
                f"{self.dataset}: {self.relative}: cannot be written into {self.target.parent} "
                f"({error.strerror or error})"
            ) from error

    def _local(self) -> Copy:
        with _open_path(self.target):
            seen = inspect(self.target, self.file)
        if seen.problem is None:
            return Copy(self.target, seen.sha256, seen.size, "local folder")
        try:
            kept = self._set_aside(self.target, seen)
        except OSError as error:
            kept = f"left in place ({error.strerror}), not used"
        _say(f"{self.dataset}: {self.relative}: {seen.problem}; {kept}")
        raise _Unusable(f"{seen.problem}; {kept}")

    def _copy_in(self, source: str, place: str, location: str) -> Copy:
        delays = [*RETRY_DELAYS_S]
        while True:
            try:
                with self._open(location) as stream:
                    return self._receive(source, place, stream)
            except _Passing:
                if not delays:
                    raise
                time.sleep(delays.pop(0))

    def _receive(self, source: str, place: str, stream: BinaryIO) -> Copy:
        with atomic.replacing(self.target) as temp:
            with temp.open("wb") as out:
                while chunk := _read(stream):
                    out.write(chunk)
            if missing := getattr(
                stream, "length", 0
            ):  # of an answer, what it has promised and not sent
                raise _Passing(f"truncated: {missing} bytes did not arrive")
            seen = inspect(temp, self.file)
            if seen.problem is not None:
                kept = self._set_aside(temp, seen)
                _say(
                    f"{self.dataset}: {self.relative}: {source} {place} delivered a bad file: {seen.problem}; {kept}"
                )
                raise _Unusable(f"{seen.problem}; {kept}")
        _say(f"{self.dataset}: {self.relative}: copied from {source} {place} ({seen.size} bytes)")
        return Copy(self.target, seen.sha256, seen.size, source)

    def _open(self, location: str) -> BinaryIO:
        if not location.startswith(_REMOTE):
            return _open_path(Path(location))
        host = urllib.parse.urlsplit(location).netloc
        if host in _unreachable:
            raise _Unusable("cannot be reached, as for the file before")
        request = urllib.request.Request(
            location, headers={"User-Agent": _AGENT, "Accept-Encoding": "identity"}
        )
        try:
            return cast(BinaryIO, urllib.request.urlopen(request, timeout=TIMEOUT_S))
        except urllib.error.HTTPError as error:
            error.close()
            kind = _Passing if error.code in (429, 500, 502, 503, 504) else _Unusable
            raise kind(f"HTTP {error.code} {error.reason}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(getattr(error, "reason", error), TimeoutError | ConnectionResetError):
                raise _Passing(f"no answer ({_reason(error)})") from error
            _unreachable.add(host)
            raise _Unusable(f"cannot be reached ({_reason(error)})") from error

    def _set_aside(self, bad: Path, seen: Inspection) -> str:
        """Rename a bad file; returns a phrase for messages."""
        kept = self.target.with_name(f"{self.target.name}.bad-{seen.sha256[:8]}")
        os.replace(bad, kept)
        return f"set aside as {kept.name}"


def _read(stream: BinaryIO) -> bytes:
    try:
        return stream.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _Passing(f"stopped ({_reason(error)})") from error


def _open_path(path: Path) -> BinaryIO:
    # A link is fine; what it leads to has to be a regular file (no pipe, no device).
    if not path.is_file():
        if not path.parent.is_dir():
            raise _Unusable("missing (no such folder)")
        raise _Unusable("not a regular file" if os.path.lexists(path) else "missing")
    try:
        return path.open("rb")
    except OSError as error:
        raise _Unusable(f"cannot be read ({error.strerror})") from error


def _reason(error: BaseException) -> str:
    inner = getattr(error, "reason", error)
    text = getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
    return " ".join(str(text).split())
