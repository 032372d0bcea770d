"""Files that a job reads, each compared with the hash that the plan, or the record of another job, has of it.

`expect` compares at the job's start, `read_bytes` what is read, and `check` again before the job leaves its record.
Results that are stored have no files: `door` gives their content, which it has compared with a hash, too.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairfl.runtime import sealed
from fairfl.runtime.errors import FairflError

_expected: dict[
    str, tuple[str, Path, tuple[int, int, int]]
] = {}  # path -> hash, file, its state then
stored: dict[str, list[Any]] = {}  # path -> what `door` needs, as the plan says


def door(*place: Any) -> Any:
    """Content of a stored file: bytes, or a table of pyarrow. fairfl.jobs puts in its place what knows the record."""
    raise NotImplementedError


def expect(path: Path | str, digest: str) -> None:
    """The file is to have this hash: XXH3 with 32 hex digits, else as many digits of the sha256.

    Raises FairflError if it has another one, OSError if it cannot be read.
    """
    key, file = os.path.abspath(path), sealed.in_copy(Path(path))
    _expected.pop(key, None)
    mark = _mark(file)
    with file.open("rb") as stream:
        _compare(path, hashlib.file_digest(stream, _hasher(digest)).hexdigest(), digest)
    _expected[key] = digest, file, mark


def read(path: Path | str) -> Any:
    """`read_bytes`, but of a stored table in parquet the table."""
    place = stored.get(str(path))
    return read_bytes(path) if place is None else door(*place)


def read_bytes(path: Path | str) -> bytes:
    """Content of a file. Raises FairflError if it is not the expected one, OSError if it cannot be read."""
    if place := stored.get(str(path)):
        return door(*place)
    data = sealed.in_copy(Path(path)).read_bytes()
    if entry := _expected.get(os.path.abspath(path)):
        _compare(path, _hasher(entry[0])(data).hexdigest(), entry[0])
    return data


def check() -> None:
    """Raises FairflError by name if an expected file has another content now."""
    for digest, file, mark in list(_expected.values()):
        if not file.exists() or _mark(file) != mark:
            expect(file, digest)


def files() -> list[Path]:
    """The files that are expected."""
    return [file for _, file, _ in _expected.values()]


def forget() -> None:
    """Expect nothing any more."""
    _expected.clear()


def _mark(file: Path) -> tuple[int, int, int]:
    state = file.stat()
    return state.st_ctime_ns, state.st_ino, state.st_size


def _hasher(digest: str) -> Callable[..., Any]:
    import xxhash

    return xxhash.xxh3_128 if len(digest) == 32 else hashlib.sha256


def _compare(path: Path | str, digest: str, expected: str) -> None:
    if digest[: len(expected)] != expected:
        raise FairflError(
            f"{os.path.relpath(path)}: is not the file that this job was planned with; run the same command again"
        )
