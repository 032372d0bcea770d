"""Checks whether a file is the one that the data set needs."""

from __future__ import annotations

import gzip
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairfl.data.interface import RemoteFile
from fairfl.runtime import hashes
from fairfl.runtime.errors import SourceError

_CHUNK = 1 << 20
_MAGIC = {"gzip": b"\x1f\x8b", "zip": b"PK", "torch": b"PK"}


class Unusable(Exception):
    """No file that a data set can use: the message states the reason, ``sha256`` (hex) is of a file that is bad."""

    def __init__(self, problem: str, sha256: str = "") -> None:
        super().__init__(problem)
        self.sha256 = sha256


class Forms:
    """The two forms of a data set. The option `form` names one; "auto": the first, else the second."""

    def __init__(self, dataset: str, **forms: RemoteFile) -> None:
        self._dataset, self._forms = dataset, forms
        first, second = forms.values()
        self._asked = {"auto": replace(first, instead=second), **forms}

    def files(self, options: Any) -> tuple[RemoteFile, ...]:
        """The one file of the form that is asked for."""
        return (self._asked[options.form],)

    def find(self, raw: Path | None, form: str) -> tuple[str, Path]:
        """Name and path of the form that the data folder has. Raises SourceError if it is missing or damaged."""
        file = find_form(raw, self._asked[form], self._dataset)
        name = next(name for name, form in self._forms.items() if form.name == file.name)
        return name, usable(raw, file, self._dataset)


def inspect(path: Path, file: RemoteFile) -> tuple[str, int]:
    """Compare a file on disk with its description; returns its sha256 (hex) and its size in bytes.

    Checked are, in this order: a regular file or a link to one, not empty, not a web page, first bytes, checksum. A
    container without a checksum is read to its end.

    Raises:
        Unusable: it is not the file that is described, or cannot be read.
    """
    check_readable(path)
    sha256 = hashes.read(path)
    if problem := _find_problem(path, file, sha256):
        raise Unusable(problem, sha256)
    return sha256, path.stat().st_size


def check_readable(path: Path) -> None:
    """Raises Unusable unless this is a regular file, or a link to one, no pipe and no device, that can be read."""
    if not path.parent.is_dir():
        raise Unusable("missing (no such folder)")
    if not path.is_file():
        raise Unusable("not a regular file" if os.path.lexists(path) else "missing")
    if not os.access(path, os.R_OK):
        raise Unusable("cannot be read (no permission)")


def has_file(raw: Path | None, file: RemoteFile, dataset: str) -> bool:
    """True if the data folder ``raw`` has the file, good or bad."""
    return raw is not None and (Path(raw) / file.relative(dataset)).is_file()


def find_form(raw: Path | None, file: RemoteFile, dataset: str) -> RemoteFile:
    """The form of a file that the data folder has, ``file`` or what may stand ``instead``; ``file`` if both or none."""
    other = file.instead
    return (
        other
        if other and has_file(raw, other, dataset) and not has_file(raw, file, dataset)
        else file
    )


def usable(raw: Path | None, file: RemoteFile, dataset: str) -> Path:
    """Path of a raw file in the data folder ``raw`` after checking it once more.

    Raises:
        SourceError: the file is missing or is not the one that the data set needs.
    """
    if raw is None:
        raise SourceError(f"{dataset}: needs the file {file.name} but no data folder was given")
    path = Path(raw, file.relative(dataset))
    try:
        inspect(path, file)
    except Unusable as error:
        raise SourceError(
            f"{dataset}: {path}: {error}; run fairfl.jobs.fetch --dataset {dataset}"
        ) from None
    return path


def _find_problem(path: Path, file: RemoteFile, sha256: str) -> str | None:
    with path.open("rb") as stream:
        head = stream.read(512)
    if not head:
        return "empty file"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower()
    if start.startswith((b"<!doctype", b"<html")) or (file.magic and start.startswith(b"<")):
        return "a web page (HTML) instead of the file"
    if file.magic and not head.startswith(_MAGIC[file.magic]):
        return f"wrong format: starts with {head[:4].hex()}, not with a {file.magic} header"
    if file.sha256:
        kind, digest, accepted = "sha256", sha256, file.sha256
    elif file.md5:
        kind, digest, accepted = "md5", hashes.read(path, "md5"), (file.md5,)
    else:
        return _find_cut(path, file)
    if digest in accepted:
        return None
    expected = " or ".join(text[:12] for text in accepted)
    mismatch = f"checksum mismatch: {kind} {digest[:12]}…, expected {expected}…"
    # A cut download is the common case; saying so helps more than two digests.
    return "; ".join(filter(None, [_find_cut(path, file), mismatch]))


def _find_cut(path: Path, file: RemoteFile) -> str | None:
    """Read the container to its end; a sentence if that is not possible."""
    try:
        if file.magic == "gzip":
            with gzip.open(path) as stream:
                while stream.read(_CHUNK):
                    pass
        elif file.magic:
            with zipfile.ZipFile(path) as archive:
                if bad := archive.testzip():
                    return f"damaged {file.magic} file (member {bad})"
    except Exception as error:  # the readers may raise nearly anything
        return f"truncated {'' if isinstance(error, EOFError) else 'or damaged '}{file.magic} file"
    return None
