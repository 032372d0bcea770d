"""Tar and zip archives, read in place: nothing is unpacked to disk, and names of members are never used as paths.

Links and devices in an archive are passed over, wherever they lead: what they are called is then missing.
"""

from __future__ import annotations

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from fairfl.runtime.errors import DataError
from fairfl.runtime.plain_data import format_place, one_line

# What the readers of the standard library raise on files that are damaged, or made to trip them.
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    ArithmeticError,
    RuntimeError,
)
_LARGEST_HEADER = 1 << 20
_LARGEST = 1 << 30  # file, in bytes


class _Member(tarfile.TarInfo):
    """Names and attributes that are too long for a header come before it; tarfile reads them whole."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if not self.isreg() and not 0 <= self.size <= _LARGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size} bytes")
        return super()._proc_member(archive)  # type: ignore[misc]


def members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each regular file that is wanted, in the archive's order, in one pass.

    Only one content is in memory at a time. A leading "./" is no part of a name. Not every damage
    shows here: the file's checksum has to be right before, and the caller has to count.

    Raises:
        DataError: a damaged archive, a file that is too large, or two of the same name.
    """
    seen: set[str] = set()
    try:
        with tarfile.open(path, "r|*", tarinfo=_Member) as archive:
            while (member := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]  # or it keeps every header to the end
                name = member.name.removeprefix("./")
                if not member.isreg() or not wanted(name):
                    continue
                if name in seen:
                    raise DataError(f"{path.name}: {format_place((name,))} is there twice")
                seen.add(name)
                _check_size(path, name, member.size)
                yield name, archive.extractfile(member).read()  # type: ignore[union-attr]
    except DAMAGE as error:
        raise DataError(f"{path.name}: damaged archive ({one_line(str(error))})") from error


def zip_member(path: Path, name: str) -> bytes:
    """Content of a file in a zip archive.

    Raises:
        DataError: a damaged archive, or a file that is missing or too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            member = archive.NameToInfo.get(name)
            if member is None:
                raise DataError(f"{path.name}: has no file {name}")
            _check_size(path, name, member.file_size)
            with archive.open(member) as stream:
                return stream.read(member.file_size + 1)  # without a size it would unpack whatever there is
    except DAMAGE as error:
        raise DataError(f"{path.name}: damaged archive ({one_line(str(error))})") from error


def _check_size(path: Path, name: str, size: int) -> None:
    if not 0 <= size <= _LARGEST:
        raise DataError(f"{path.name}: {format_place((name,))} has {size} bytes; expected {_LARGEST} at most")
