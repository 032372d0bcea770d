"""Tar and zip archives, read in place: nothing is unpacked to disk."""

from __future__ import annotations

import contextlib
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fairfl.errors import DataError


def members(path: Path, wanted: Callable[[str], bool], largest: int) -> Iterator[tuple[str, bytes]]:
    """Name and content of each regular file that is wanted, in the archive's order, in one pass.

    Only one content is in memory at a time. A leading "./" is no part of a name. Not every damage
    shows here: the file's checksum has to be right before, and the caller has to count.

    Args:
        largest: allowed size of a file in bytes.

    Raises:
        DataError: a damaged archive, or a file that is too large.
    """
    try:
        with tarfile.open(path, "r|*") as archive:
            while (member := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]  # or it keeps every header to the end
                name = member.name.removeprefix("./")
                if not member.isreg() or not wanted(name):
                    continue
                if member.size > largest:
                    raise DataError(f"{path.name}: {name} has {member.size} bytes; expected {largest} at most")
                yield name, archive.extractfile(member).read()  # type: ignore[union-attr]
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path.name}: damaged archive ({error})") from error


def zip_names(path: Path) -> list[str]:
    """Names in a zip archive, in its order.

    Raises:
        DataError: a damaged archive.
    """
    with _opened_zip(path) as archive:
        return archive.namelist()


def zip_members(path: Path, names: Iterable[str], largest: int) -> Iterator[tuple[str, bytes]]:
    """Name and content of some files of a zip archive, in the order of ``names``. One content is in memory at a time.

    Args:
        largest: allowed size of a file in bytes.

    Raises:
        DataError: a damaged archive, or a file that is missing or too large.
    """
    with _opened_zip(path) as archive:
        for name in names:
            member = archive.NameToInfo.get(name)
            if member is None:
                raise DataError(f"{path.name}: has no file {name}")
            if member.file_size > largest:
                raise DataError(f"{path.name}: {name} has {member.file_size} bytes; expected {largest} at most")
            yield name, archive.read(member)


@contextlib.contextmanager
def _opened_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, OSError, zlib.error, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path.name}: damaged archive ({error})") from error
