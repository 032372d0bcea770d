"""Is this file the one that the data set needs?"""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from fairfl.data.formats.archives import DAMAGE
from fairfl.data.interface import RemoteFile
from fairfl.runtime.errors import SourceError

_CHUNK = 1 << 20
_MAGIC = {"gzip": b"\x1f\x8b", "zip": b"PK", "torch": b"PK"}
# Data unpack to ten times their size, what unpacks to a thousand times is a bomb; a small one does no harm.
_MOST_EXPANSION = 200
_HARMLESS = 1 << 30


@dataclass(frozen=True)
class Inspection:
    """Digest (hex) and size of a file in bytes, and what is wrong with it (None: nothing)."""

    sha256: str
    size: int
    problem: str | None


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
    """Whether the data folder ``raw`` has the file, good or bad."""
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
        fault = "is not a regular file; remove it and" if path.exists() else "is missing;"
        raise SourceError(f"{dataset}: {path} {fault} run fairfl.jobs.fetch --dataset {dataset}")
    problem = inspect(path, file).problem
    if problem is not None:
        raise SourceError(f"{dataset}: {path}: {problem}; run fairfl.jobs.fetch --dataset {dataset}")
    return path


def _problem(path: Path, file: RemoteFile, head: bytes, sha256: str, md5: str) -> str | None:
    if not head:
        return "empty file"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower()
    if start.startswith((b"<!doctype", b"<html")) or (file.magic and start.startswith(b"<")):
        return "a web page (HTML) instead of the file"
    if file.magic and not head.startswith(_MAGIC[file.magic]):
        return f"wrong format: starts with {head[:4].hex()}, not with a {file.magic} header"
    expected = _expected(file, sha256, md5)
    if expected is None:
        return None
    # A cut download is the common case; saying so helps more than two digests.
    return "; ".join(part for part in (_incomplete(path, file), expected) if part) or None


def _expected(file: RemoteFile, sha256: str, md5: str) -> str | None:
    """None if a checksum vouches for the file, "" if there is none, else the mismatch."""
    if file.sha256:
        if sha256 in file.sha256:
            return None
        known = " or ".join(digest[:12] for digest in file.sha256)
        return f"checksum mismatch: sha256 {sha256[:12]}…, expected {known}…"
    if file.md5 is None:
        return ""
    if md5 == file.md5:
        return None
    return f"checksum mismatch: md5 {md5}, expected {file.md5}"


def _incomplete(path: Path, file: RemoteFile) -> str | None:
    """Read the container to its end; a sentence if that is not possible."""
    most = max(_HARMLESS, _MOST_EXPANSION * path.stat().st_size)
    bomb = f"{file.magic} file that unpacks to more than {most} bytes"
    try:
        if file.magic == "gzip":
            with gzip.open(path) as stream:
                while stream.read(_CHUNK):
                    if stream.tell() > most:
                        return bomb
        elif file.magic in ("zip", "torch"):
            with zipfile.ZipFile(path) as archive:
                if sum(member.file_size for member in archive.infolist()) > most:
                    return bomb
                bad = archive.testzip()
            if bad is not None:
                return f"damaged {file.magic} file (member {bad})"
    except EOFError:
        return f"truncated {file.magic} file"
    except DAMAGE:
        return f"truncated or damaged {file.magic} file"
    return None
