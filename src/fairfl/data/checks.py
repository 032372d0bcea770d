"""Is this file the one that the data set needs?"""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairfl.data.interface import RemoteFile
from fairfl.runtime.errors import SourceError

_CHUNK = 1 << 20
_MAGIC = {"gzip": b"\x1f\x8b", "zip": b"PK", "torch": b"PK"}


@dataclass(frozen=True)
class Inspection:
    """Digest (hex) and size of a file in bytes, and what is wrong with it (None: nothing)."""

    sha256: str
    size: int
    problem: str | None


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
        """Which form the data folder has, and its path. Raises SourceError if it is missing or damaged."""
        file = present(raw, self._asked[form], self._dataset)
        found = next(name for name, known in self._forms.items() if known.name == file.name)
        return found, usable(raw, file, self._dataset)


def inspect(path: Path, file: RemoteFile) -> Inspection:
    """Compare a file on disk with its description.

    Checked are, in this order: not empty, not a web page, first bytes, checksum. A container
    without a checksum is read to its end.

    Raises:
        OSError: the file cannot be read.
    """
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    size, head = 0, b""
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            head = head or chunk[:512]
            size += len(chunk)
            sha256.update(chunk)
            md5.update(chunk)
    digest = sha256.hexdigest()
    return Inspection(digest, size, _problem(path, file, head, digest, md5.hexdigest()))


def has(raw: Path | None, file: RemoteFile, dataset: str) -> bool:
    """True if the data folder ``raw`` has the file, good or bad."""
    return raw is not None and (Path(raw) / file.relative(dataset)).is_file()


def present(raw: Path | None, file: RemoteFile, dataset: str) -> RemoteFile:
    """The form of a file that the data folder has, ``file`` or what may stand ``instead``; ``file`` if both or none."""
    other = file.instead
    return other if other and has(raw, other, dataset) and not has(raw, file, dataset) else file


def usable(raw: Path | None, file: RemoteFile, dataset: str) -> Path:
    """Path of a raw file in the data folder ``raw`` after checking it once more.

    Raises:
        SourceError: the file is missing or is not the one that the data set needs.
    """
    if raw is None:
        raise SourceError(f"{dataset}: needs the file {file.name} but no data folder was given")
    path = Path(raw) / file.relative(dataset)
    # A link that the user has made may lead anywhere, as long as there is a regular file.
    if not path.is_file():
        problem = " is not a regular file; remove it" if path.exists() else " is missing"
    elif found := inspect(path, file).problem:
        problem = f": {found}"
    else:
        return path
    raise SourceError(f"{dataset}: {path}{problem}; run fairfl.jobs.fetch --dataset {dataset}")


def _problem(path: Path, file: RemoteFile, head: bytes, sha256: str, md5: str) -> str | None:
    if not head:
        return "empty file"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower()
    if start.startswith((b"<!doctype", b"<html")) or (file.magic and start.startswith(b"<")):
        return "a web page (HTML) instead of the file"
    if file.magic and not head.startswith(_MAGIC[file.magic]):
        return f"wrong format: starts with {head[:4].hex()}, not with a {file.magic} header"
    kind, digest, accepted = (
        ("sha256", sha256, file.sha256) if file.sha256 else ("md5", md5, (file.md5,))
    )
    if digest in accepted:
        return None
    # A cut download is the common case; saying so helps more than two digests.
    incomplete = _incomplete(path, file)
    if accepted == (None,):
        return incomplete
    known = " or ".join(f"{known}"[:12] for known in accepted)
    return "; ".join(
        filter(None, [incomplete, f"checksum mismatch: {kind} {digest[:12]}…, expected {known}…"])
    )


def _incomplete(path: Path, file: RemoteFile) -> str | None:
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
