"""Tar and zip archives, read in place: nothing is unpacked to disk, and names of members are never used as paths.

Links and devices in an archive are passed over, wherever they lead: what they are called is then missing.
"""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from fairfl.runtime.errors import DataError
from fairfl.runtime.plain_data import format_place, one_line


def read_members(path: Path, is_wanted: Callable[[str], object]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each regular file that is wanted, in the archive's order, in one pass.

    Only one content is in memory at a time. A leading "./" is not part of a name. Not every damage
    shows here: the file's checksum has to be right before, and the caller has to count.

    Raises:
        DataError: a damaged archive, or two files of the same name.
    """
    seen: set[str] = set()
    try:
        with tarfile.open(path, "r|*") as archive:
            while (member := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]  # or it keeps every header to the end
                name = member.name.removeprefix("./")
                if not member.isreg() or not is_wanted(name):
                    continue
                if name in seen:
                    raise DataError(f"{path.name}: {format_place((name,))} is there twice")
                seen.add(name)
                yield name, archive.extractfile(member).read()  # type: ignore[union-attr]
    except DataError:
        raise
    except Exception as error:  # the readers may raise nearly anything
        raise damaged(path, error) from error


def read_zip_member(path: Path, name: str) -> bytes:
    """Content of a file in a zip archive.

    Raises:
        DataError: a damaged archive, or a file that is missing.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(name)
    except Exception as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> DataError:
    """The error of an archive that a reader of the standard library has stumbled over."""
    return DataError(f"{path.name}: damaged archive ({one_line(str(error))})")
