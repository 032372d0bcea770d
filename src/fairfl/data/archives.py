"""Tar archives, read in place: nothing is unpacked to disk."""

from __future__ import annotations

import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
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
