"""Files that are either there in full or not there at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield an empty temporary file beside ``path``; on success it takes the place of ``path``.

    The content is on disk (fsync) before the rename, so a crash leaves the old file or the new
    one. On any exception, Ctrl-C included, the temporary file is removed and ``path`` is as it
    was. Missing parent folders are made.

    Raises:
        OSError: the folder cannot be written.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: its mode 0600 would survive the rename and lock others out of a shared folder.
    temp = path.parent / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    os.close(os.open(temp, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temp
        _sync(temp, os.O_RDWR)
        os.replace(temp, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temp.unlink(missing_ok=True)
        raise
    # The rename itself lives in the folder; some file systems cannot sync folders.
    with contextlib.suppress(OSError):
        _sync(path.parent, os.O_RDONLY)


def write_bytes(path: Path | str, data: bytes) -> None:
    """Write ``data`` to ``path`` in one step (see :func:`replacing`)."""
    with replacing(path) as temp:
        temp.write_bytes(data)


def write_text(path: Path | str, text: str) -> None:
    """Write ``text`` as UTF-8 with line ends as given, in one step (see :func:`replacing`)."""
    write_bytes(path, text.encode("utf-8"))


def _sync(path: Path, mode: int) -> None:
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
