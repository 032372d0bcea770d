"""A copy of the project, taken once at the start of a call: the only code and settings that its jobs know.

It is named by its content, results/<scale>/.code/<hash>, so that a second call without an edit takes the same one,
unless somebody has written to it. What planning has read goes in as it was read. Bytecode comes along from an older
copy as far as the source is the same.
"""

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Container, Iterator
from importlib.util import cache_from_source
from pathlib import Path

from fairfl.runtime import atomic, locks, sealed
from fairfl.runtime.sealed import LOCK

FOLDER = ".code"  # below results/<scale>
_PARTS = (
    "src/fairfl", "papers", "scales", "config.yaml", "results/recorded/comparison.csv", "results/recorded/claims.csv"
)  # fmt: skip
_LARGEST = 16 * 2**20  # bytes of a file that nobody has named


def take(root: Path, results: Path) -> Path:
    """The copy of the project in `root`, made if it is not there; copies that no job uses any more are deleted.

    Raises OSError if it cannot be written.
    """
    files = _as_planned(root)
    folder = results / FOLDER / _name(files)
    copies = folder.parent.glob("[!.]*")
    newest = max(copies, key=lambda path: path.stat().st_mtime, default=None)
    if _read(folder, files) != files or sealed.written_to(folder, files):
        shutil.rmtree(folder, ignore_errors=True)
        _write(folder, files, newest)
    os.utime(folder)
    for other in set(folder.parent.iterdir()) - {folder}:
        if not locks.in_use(other / LOCK):
            shutil.rmtree(other, ignore_errors=True)
    return folder


def edited(root: Path, copy: Path) -> list[str]:
    """Files of the project that are no longer as in the copy, sorted; none of what `make report` writes."""
    copied = {os.path.relpath(path, copy) for path in _files(copy)}
    now, then = _read(root, copied).items(), _read(copy, copied).items()
    return sorted({name for name, _ in now ^ then if not name.startswith("results/")})


def _name(files: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(os.fsencode(f"{name}\0{len(files[name])}\0") + files[name])
    return digest.hexdigest()[:16]


def _as_planned(root: Path) -> dict[str, bytes]:
    top = os.path.abspath(root)
    planned = {os.path.relpath(path, top): data for path, data in sealed.contents.items()}
    ours = {
        name: data
        for name, data in planned.items()
        if f"{name}/".startswith(tuple(f"{part}/" for part in _PARTS))
    }
    return _read(root) | ours


def _read(root: Path, named: Container[str] = ()) -> dict[str, bytes]:
    """Content of every file of the project below `root`, by its path there; none that only editors or Python need, and
    of large ones only named ones."""
    contents: dict[str, bytes] = {}
    for path in _files(root):
        name = os.path.relpath(path, root)
        with contextlib.suppress(OSError):  # what cannot be read is missed by who needs it
            if name in named or path.stat().st_size <= _LARGEST:
                contents[name] = path.read_bytes()
    return contents


def _files(root: Path) -> Iterator[Path]:
    for part in _PARTS:
        if (root / part).is_file():
            yield root / part
        for folder, folders, names in os.walk(root / part):
            folders[:] = [
                name for name in folders if name != "__pycache__" and not name.startswith(".")
            ]
            paths = (
                Path(folder, name)
                for name in names
                if not name.startswith(".") and not name.endswith("~")
            )
            yield from filter(Path.is_file, paths)  # a pipe would wait for ever


def _write(folder: Path, files: dict[str, bytes], old: Path | None) -> None:
    """In one step: a copy is whole or not there."""
    half = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    with atomic.making(half):
        for name, data in files.items():
            path = half / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o444)
            if old and name.endswith(".py"):
                _take_bytecode(old / name, path, data)
        (half / LOCK).touch()
        half.rename(folder)


def _take_bytecode(old: Path, new: Path, source: bytes) -> None:
    """Python finds bytecode valid if it notes the source's time and size: the new source gets the old one's time."""
    with contextlib.suppress(OSError):
        if old.read_bytes() == source:
            compiled = Path(cache_from_source(str(new)))
            compiled.parent.mkdir(exist_ok=True)
            shutil.copyfile(cache_from_source(str(old)), compiled)
            shutil.copystat(old, new)
