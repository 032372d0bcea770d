"""Where raw files come from: local folder, then mirrors, then upstream.

A file is used only if :mod:`fairfl.data.checks` finds nothing wrong with it. One that fails is set
aside in the local folder as ``<name>.bad-<first 8 of its sha256>`` (a note beside it, with ``.txt``
added, names the source and the fault) and is never used. A link in the local folder or in a mirror
may lead anywhere if there is a regular file; of a bad file behind a link only the link is set aside.
A source that has delivered a bad file is asked again on the next run, because it may have been
repaired, but never silently: a message says what it did before, and the error of a failing run
repeats it. A transfer that breaks off is tried again twice and leaves nothing behind. Where no source
has a good copy, the form that :class:`RemoteFile` names as ``instead`` is looked for in the same way,
with a message. Where there is none of these either, a file with ``otherwise`` is done without, with a
message.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fairfl.data.checks import Inspection, inspect
from fairfl.data.interface import RemoteFile
from fairfl.runtime import atomic
from fairfl.runtime.errors import SourceError

TIMEOUT_S = 30.0
RETRY_DELAYS_S = (1.0, 3.0)
_CHUNK = 1 << 20
_REMOTE = ("http://", "https://")
_AGENT = "fairfl/1 (research data fetcher)"


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


class _Unreachable(_Unusable):
    """The host cannot be reached."""


class _Passing(_Unusable):
    """A failure that may be gone in a moment."""


def find(
    file: RemoteFile,
    dataset: str,
    folder: Path,
    mirrors: Sequence[str],
    offline: bool = False,
    unreachable: set[str] | None = None,
) -> Copy:
    """A good copy in the local folder, copied there from a mirror or upstream if needed; what happens goes to stderr.

    Args:
        folder: local folder; the file lies in ``<folder>/<data set>/<name>``.
        mirrors: local folders or http(s)/file addresses with the same layout, tried in order.
        offline: nothing but local folders and file addresses is asked.
        unreachable: hosts that are not tried again; those found unreachable are added.

    Raises:
        SourceError: no source has a good copy, each with the reason, or the local folder cannot be written.
    """
    unreachable = set() if unreachable is None else unreachable
    try:
        return _Search(file, dataset, Path(folder), offline, unreachable).run(mirrors)
    except SourceError as error:
        if file.instead is None:
            raise
        _say(f"{dataset}: no usable copy of {file.name}; looking for {file.instead.name} instead")
        try:
            return find(file.instead, dataset, folder, mirrors, offline, unreachable)
        except SourceError as other:
            raise SourceError(f"{error}. Instead of it: {other}") from other


def find_all(
    files: Sequence[RemoteFile], dataset: str, folder: Path, mirrors: Sequence[str], offline: bool = False
) -> list[Copy]:
    """:func:`find` for every file, in order; files that the data set can do without are left out if nobody has them.

    Raises:
        SourceError: for the first file that fails; other failing files are named at its end.
    """
    copies, errors = [], {}
    unreachable: set[str] = set()
    for file in files:
        try:
            copies.append(find(file, dataset, folder, mirrors, offline, unreachable))
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


def known(file: RemoteFile, dataset: str, folder: Path, mirrors: Sequence[str], offline: bool = False) -> str | None:
    """sha256 of the copy that :func:`find` would take; None if that is not on this machine, or no good one is."""
    relative = file.relative(dataset)
    for place in (str(Path(folder, relative)), *(_in_mirror(str(mirror), relative) for mirror in mirrors)):
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

    def __init__(self, file: RemoteFile, dataset: str, folder: Path, offline: bool, unreachable: set[str]) -> None:
        self.file, self.dataset, self.offline, self.unreachable = file, dataset, offline, unreachable
        self.target = folder / file.relative(dataset)
        self.title = f"{dataset}: {file.relative(dataset)}"
        self.before = _read_notes(self.target)
        self.tried: list[str] = []

    def run(self, mirrors: Sequence[str]) -> Copy:
        copy = self._local()
        if copy is not None:
            return copy
        for mirror in mirrors:
            try:
                location = _in_mirror(str(mirror), self.file.relative(self.dataset))
            except ValueError as error:
                self._note(f"mirror {mirror}", f"no address ({error})")
                continue
            copy = self._from("mirror", f"mirror {mirror}", location)
            if copy is not None:
                return copy
        return self._upstream() or self._fail()

    def _local(self) -> Copy | None:
        label = f"local folder {self.target.parent}"
        if not self.target.is_file():
            what = "not a regular file" if os.path.lexists(self.target) else "missing"
            self._note(label, what)
            return None
        try:
            seen = inspect(self.target, self.file)
        except OSError as error:
            self._note(label, f"cannot be read ({error.strerror})")
            return None
        if seen.problem is None:
            return Copy(self.target, seen.sha256, seen.size, "local folder")
        try:
            kept = self._set_aside(self.target, seen, label)
        except OSError as error:
            kept = f"left in place ({error.strerror}), not used"
        _say(f"{self.title}: {seen.problem}; {kept}")
        self._note(label, f"{seen.problem}; {kept}")
        return None

    def _upstream(self) -> Copy | None:
        hosts, reason = [], ""
        for url in self.file.urls:
            label = f"upstream {url}"
            try:
                copy = self._from("upstream", label, url, raise_unreachable=True)
            except _Unreachable as error:
                hosts.append(urllib.parse.urlsplit(url).netloc)
                reason = str(error)
            else:
                if copy is not None:
                    return copy
        if hosts and len(hosts) == len(self.file.urls):
            # One sentence, not one per address, for the usual case: there is no network.
            self.tried.append(f"upstream: no network (cannot reach {', '.join(hosts)}: {reason})")
        elif hosts:
            self.tried.append(f"upstream: cannot reach {', '.join(hosts)} ({reason})")
        return None

    def _from(self, kind: str, label: str, location: str, raise_unreachable: bool = False) -> Copy | None:
        remote = location.startswith(_REMOTE)
        if remote and self.offline:
            self._note(label, "not tried (offline)")
            return None
        if label in self.before:
            _say(f"{self.title}: trying {label} again, which {self.before[label]}")
        try:
            return self._copy_in(kind, label, location, remote)
        except _Unreachable as error:
            if raise_unreachable:
                raise
            self._note(label, f"cannot be reached ({error})")
        except _Unusable as error:
            self._note(label, str(error))
        except OSError as error:
            raise SourceError(
                f"{self.title}: cannot be written into {self.target.parent} ({error.strerror or error})"
            ) from error
        return None

    def _copy_in(self, kind: str, label: str, location: str, remote: bool) -> Copy:
        for delay in (*RETRY_DELAYS_S, None):
            try:
                opened = self._open_url(location) if remote else _open_path(Path(location))
                with opened as (stream, expected):
                    return self._receive(kind, label, stream, expected)
            except _Passing:
                if delay is None or not remote:
                    raise
                time.sleep(delay)
        raise AssertionError("the last attempt returns or raises")

    def _receive(self, kind: str, label: str, stream: BinaryIO, expected: int | None) -> Copy:
        with atomic.replacing(self.target) as temp:
            with temp.open("wb") as out:
                size = self._pour(stream, out)
            if expected is not None and size < expected:
                raise _Passing(f"truncated: {size} of {expected} bytes arrived")
            seen = inspect(temp, self.file)
            if seen.problem is not None:
                kept = self._set_aside(temp, seen, label)
                _say(f"{self.title}: {label} delivered a bad file: {seen.problem}; {kept}")
                raise _Unusable(f"{seen.problem}; {kept}")
        _say(f"{self.title}: copied from {label} ({seen.size} bytes)")
        return Copy(self.target, seen.sha256, seen.size, kind)

    def _pour(self, stream: BinaryIO, out: BinaryIO) -> int:
        size = 0
        while True:
            try:
                chunk = stream.read(_CHUNK)
            except (OSError, http.client.HTTPException) as error:
                raise _Passing(f"stopped after {size} bytes ({_reason(error)})") from error
            if not chunk:
                return size
            size += len(chunk)
            if size > self.file.max_bytes:
                raise _Unusable(f"larger than the {self.file.max_bytes} bytes that are allowed")
            out.write(chunk)

    @contextlib.contextmanager
    def _open_url(self, url: str) -> Iterator[tuple[BinaryIO, int | None]]:
        host = urllib.parse.urlsplit(url).netloc
        if host in self.unreachable:
            raise _Unreachable("as for the file before")
        request = urllib.request.Request(url, headers={"User-Agent": _AGENT, "Accept-Encoding": "identity"})
        try:
            answer = urllib.request.urlopen(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            raise _http_problem(error) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(getattr(error, "reason", error), TimeoutError | ConnectionResetError):
                raise _Passing(f"no answer ({_reason(error)})") from error
            self.unreachable.add(host)
            raise _Unreachable(_reason(error)) from error
        with answer:
            length = answer.headers.get("Content-Length", "")
            yield answer, int(length) if re.fullmatch("[0-9]{1,18}", length) else None

    def _set_aside(self, bad: Path, seen: Inspection, label: str) -> str:
        """Rename a bad file, write the note beside it; returns a phrase for messages."""
        kept = self.target.with_name(f"{self.target.name}.bad-{seen.sha256[:8]}")
        os.replace(bad, kept)
        note = kept.with_name(kept.name + ".txt")
        lines = note.read_text("utf-8").splitlines() if note.is_file() else []
        line = f"{label}\t{seen.problem}"
        if line not in lines:
            atomic.write_text(note, "\n".join([*lines, line]) + "\n")
        return f"set aside as {kept.name}"

    def _note(self, label: str, problem: str) -> None:
        earlier = self.before.get(label)
        self.tried.append(f"{label}: {problem}" + (f" (it {earlier})" if earlier else ""))

    def _fail(self) -> Copy:
        place = self.target.parent
        raise SourceError(
            f"{self.dataset}: no usable copy of {self.file.name}. Tried: {'; '.join(self.tried)}. "
            f"What to do: put {self.file.name} into {place}{os.sep}, or name a mirror in "
            "config.yaml (mirrors:), or run with scale=quick, which needs no files"
        )


@contextlib.contextmanager
def _open_path(path: Path) -> Iterator[tuple[BinaryIO, int | None]]:
    # A link in a mirror is fine; what it leads to has to be a regular file (no pipe, no device).
    if not path.is_file():
        if not path.parent.is_dir():
            raise _Unusable("missing (no such folder)")
        raise _Unusable("not a regular file" if os.path.lexists(path) else "missing")
    try:
        stream = path.open("rb")
    except OSError as error:
        raise _Unusable(f"cannot be read ({error.strerror})") from error
    with stream:
        yield stream, None


def _http_problem(error: urllib.error.HTTPError) -> _Unusable:
    with contextlib.suppress(OSError):
        error.close()
    if error.code in (404, 410):
        return _Unusable(f"missing (HTTP {error.code})")
    kind = _Passing if error.code in (429, 500, 502, 503, 504) else _Unusable
    return kind(f"HTTP {error.code} {error.reason}")


def _reason(error: BaseException) -> str:
    inner = getattr(error, "reason", error)
    text = getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
    return " ".join(str(text).split())


def _read_notes(target: Path) -> dict[str, str]:
    """From the notes beside files set aside: source -> "delivered a bad file before (...)"."""
    before: dict[str, str] = {}
    if not target.parent.is_dir():
        return before
    for note in sorted(target.parent.iterdir()):
        if not (note.name.startswith(f"{target.name}.bad-") and note.suffix == ".txt"):
            continue
        with contextlib.suppress(OSError, UnicodeDecodeError):
            for line in note.read_text("utf-8").splitlines():
                label = line.partition("\t")[0]
                before[label] = f"delivered a bad file before (kept as {note.stem})"
    return before
