"""Raw files are looked for in the local folder, then in mirrors, then upstream.

A file is used only if :mod:`fairfl.data.checks` finds nothing wrong with it. One that fails is set
aside in the local folder as ``<name>.bad-<first 8 of its sha256>`` and is never used. A link in the local folder or in
a mirror may lead anywhere if there is a regular file; of a bad file behind a link only the link is set aside.
A transfer that breaks off is tried again twice and leaves nothing behind. Where no source
has a good copy, the form that :class:`RemoteFile` names as ``instead`` is looked for in the same way,
with a message. Where these have none either, a file with ``otherwise`` is done without, with a
message.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairfl.data.checks import Unusable, check_readable, inspect
from fairfl.data.interface import RemoteFile
from fairfl.runtime import atomic
from fairfl.runtime.errors import SourceError
from fairfl.runtime.plain_data import one_line

TIMEOUT_S = 30.0
RETRY_DELAYS_S = (1.0, 3.0)
_REMOTE = ("http://", "https://")
_HEADERS = {"User-Agent": "fairfl/1 (research data fetcher)"}
# Failures of the network that may be gone in a moment.
_PASSING = (TimeoutError, ConnectionResetError, http.client.IncompleteRead)
_PASSING_STATUS = (429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Copy:
    """A good file in the local folder and the kind of source it came from.

    The file is the one that was asked for or the form ``instead`` of it; ``path`` is relative to the local folder,
    ``source`` is "local folder", "mirror" or "upstream".
    """

    name: str
    sha256: str
    bytes: int
    path: str
    source: str


@dataclass(frozen=True)
class FileSources:
    """Places that may have raw files, with the layout ``<data set>/<name>``.

    Attributes:
        folder: local folder, which files are copied into.
        mirrors: other folders or http(s)/file addresses, tried in order before the addresses of a file.
        offline: nothing but folders and file addresses is asked.
    """

    folder: Path
    mirrors: Sequence[str] = ()
    offline: bool = False

    def find(self, file: RemoteFile, dataset: str) -> Copy:
        """A good copy in the local folder, copied there if needed; what happens goes to stderr.

        Raises:
            SourceError: no source has a good copy, each with the reason, or the local folder cannot be written.
        """
        relative, reasons = file.relative(dataset), []
        target = self.folder / relative
        for source, place, location in self._locations(file, relative):
            try:
                sha256, size = self._obtain(file, target, location)
            except Unusable as error:
                reasons.append(f"{source} {place}: {error}")
                if error.sha256:
                    _say(f"{dataset}: {relative}: {reasons[-1]}")
            except OSError as error:
                raise SourceError(
                    f"{dataset}: {relative}: cannot be written into {target.parent} ({error.strerror or error})"
                ) from error
            else:
                if source != "local folder":
                    _say(f"{dataset}: {relative}: copied from {source} {place} ({size} bytes)")
                return Copy(file.name, sha256, size, relative, source)
        problem = (
            f"{dataset}: no usable copy of {file.name}. Tried: {'; '.join(reasons)}. "
            f"What to do: put {file.name} into {target.parent}{os.sep}, or name a mirror in "
            "config.yaml (mirrors:), or run with scale=quick, which needs no files"
        )
        if file.instead is None:
            raise SourceError(problem)
        _say(f"{dataset}: no usable copy of {file.name}; looking for {file.instead.name} instead")
        try:
            return self.find(file.instead, dataset)
        except SourceError as error:
            raise SourceError(f"{problem}. Instead of it: {error}") from error

    def find_all(self, files: Sequence[RemoteFile], dataset: str) -> list[Copy]:
        """Good copies in order; files that the data set can do without are left out if no place has them.

        Raises:
            SourceError: for the first file that fails; other failing files are named at its end.
        """
        copies, errors = [], {}
        for file in files:
            try:
                copies.append(self.find(file, dataset))
            except SourceError as error:
                if file.otherwise:
                    _say(
                        f"{dataset}: goes without {file.name}: {file.otherwise}. The reason: {error}"
                    )
                else:
                    errors[file.relative(dataset)] = error
        if errors:
            first, *others = errors
            also = f" (also without a usable copy: {', '.join(others)})" if others else ""
            raise SourceError(f"{errors[first]}{also}")
        return copies

    def digest_at_hand(self, file: RemoteFile, dataset: str) -> str | None:
        """sha256 of the copy that `find` would take; None if that is not on this machine, or no good one is."""
        for _, _, location in self._locations(file, file.relative(dataset)):
            if location.startswith(_REMOTE):
                if not self.offline:
                    return None
            else:
                with contextlib.suppress(Unusable):  # find says so
                    return inspect(Path(location), file)[0]
        return None

    def _locations(self, file: RemoteFile, relative: str) -> Iterator[tuple[str, str, str]]:
        """Kind and name of each source in order, and the path or address of the file there."""
        path = self.folder / relative
        yield "local folder", str(path.parent), str(path)
        for mirror in self.mirrors:
            yield "mirror", mirror, _in_mirror(mirror, relative)
        for url in file.urls:
            yield "upstream", url, url

    def _obtain(self, file: RemoteFile, target: Path, location: str) -> tuple[str, int]:
        """Leave a good copy at the target; returns its sha256 and size.

        Raises:
            Unusable: the location has none.
            OSError: the target's folder cannot be written.
        """
        if location == str(target):
            return _accept(target, file, target)
        remote = location.startswith(_REMOTE)
        if remote and self.offline:
            raise Unusable("not tried (offline)")
        if not remote:
            check_readable(Path(location))
        with atomic.replacing(target) as temporary:
            (_download if remote else shutil.copyfile)(location, temporary)
            return _accept(temporary, file, target)


def _in_mirror(mirror: str, relative: str) -> str:
    if mirror.startswith(_REMOTE):
        return f"{mirror.rstrip('/')}/{urllib.parse.quote(relative)}"
    if mirror.startswith("file:"):
        mirror = urllib.request.url2pathname(urllib.parse.urlsplit(mirror).path)
    return str(Path(mirror, relative))


def _download(url: str, path: Path) -> None:
    """Raises Unusable if no transfer comes to its end."""
    for delay in (*RETRY_DELAYS_S, None):
        try:
            # Not requests, and so not pooch: where a server calls a packed file an encoding, they would unpack it.
            request = urllib.request.Request(url, headers=_HEADERS)
            with (
                urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer,
                path.open("wb") as out,
            ):
                shutil.copyfileobj(answer, out)
                if answer.length:
                    raise ConnectionResetError(f"truncated: {answer.length} bytes did not arrive")
            return
        except (OSError, http.client.HTTPException, ValueError) as error:
            passes = isinstance(getattr(error, "reason", error), _PASSING)
            if delay is None or not (passes or getattr(error, "code", 0) in _PASSING_STATUS):
                raise Unusable(one_line(str(error))) from error
            time.sleep(delay)


def _accept(path: Path, file: RemoteFile, target: Path) -> tuple[str, int]:
    """Inspect a file. Raises Unusable for a bad one, which is set aside next to the target."""
    try:
        return inspect(path, file)
    except Unusable as error:
        if not error.sha256:
            raise
        aside = target.with_name(f"{target.name}.bad-{error.sha256[:8]}")
        try:
            os.replace(path, aside)
            place = f"set aside as {aside.name}"
        except OSError as failure:
            place = f"left in place ({failure.strerror}), not used"
        raise Unusable(f"{error}; {place}", error.sha256) from error


def _say(message: str) -> None:
    print(message, file=sys.stderr)
