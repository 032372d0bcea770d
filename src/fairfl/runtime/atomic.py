"""Files that are either there in full or not there at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairfl.runtime import opened

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.\d+-[0-9a-f]{8}\.tmp")
# Errors of a write, which do not say of which file: no space, no quota, a file size limit.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield an empty temporary file beside ``path``; on success it takes the place of ``path``.

    The content is on disk (fsync) before the rename, so a crash leaves the old file or the new
    one. On any exception, Ctrl-C and a full disk included, the temporary file is removed and
    ``path`` is as it was. Missing parent folders are made.

    Raises:
        OSError: the folder cannot be written or is full; it names ``path``, not the temporary file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: its mode 0600 would survive the rename and lock others out of a shared folder.
    temp = path.parent / f".{path.name}.{os.getpid()}-{time.time_ns() % 2**32:08x}.tmp"
    try:
        os.close(os.open(temp, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temp
        _sync(temp)
        os.replace(temp, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temp.unlink(missing_ok=True)
        if isinstance(error, OSError) and (
            str(error.filename) == str(temp) or (error.filename is None and error.errno in _FULL)
        ):
            raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from error
        raise
    # The rename itself lives in the folder; some file systems cannot sync folders.
    with contextlib.suppress(OSError), opened.by_fairfl():
        _sync(path.parent)


@contextlib.contextmanager
def making(folder: Path | str) -> Iterator[None]:
    """Around what fills a folder: on any error it goes. Raises OSError naming it where a full disk names no file."""
    try:
        yield
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(folder)) from error
        raise


def write_bytes(path: Path | str, data: bytes) -> None:
    """Write ``data`` to ``path`` in one step (see :func:`replacing`)."""
    with replacing(path) as temp:
        temp.write_bytes(data)


def write_text(path: Path | str, text: str) -> None:
    """Write ``text`` as UTF-8 with line ends as given, in one step (see :func:`replacing`)."""
    write_bytes(path, text.encode("utf-8"))


def sweep(paths: Iterable[Path]) -> None:
    """Delete the temporary files that killed processes have left beside ``paths``, and no others."""
    names: dict[Path, set[str]] = {}
    for path in paths:
        names.setdefault(path.parent, set()).add(path.name)
    for folder, entries in names.items():
        # What cannot be deleted is only litter; what cannot be written is reported when it is written.
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if (match := _TEMPORARY.fullmatch(name)) and match["name"] in entries:
                    (folder / name).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
