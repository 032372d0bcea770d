"""python -m fairfl.recorded.sums: write results/recorded/SHA256SUMS again, from what lies there.

The list has the sha256 of every file of the record, as `sha256sum -c` reads it. Whatever writes into the record does it
here; `fairfl verify` and all that read the record compare it with the list. By hand it is written again only after
`git diff` has shown that each change is meant.
"""

import hashlib
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from fairfl.recorded import FOLDER
from fairfl.runtime import atomic, cli
from fairfl.runtime.errors import FairflError

LIST = "SHA256SUMS"
NEXT = ".SHA256SUMS.next"  # the list as it will be, while files are written


def listed(folder: Path) -> dict[str, str]:
    """Hash of each file by its path below `folder`; {} without a list, as in a record that is begun.

    Where writing was killed the files that it had written by then count as listed.
    """
    hashes, after = _read(folder / LIST), _read(folder / NEXT)
    new = {path: digest for path, digest in after.items() if hashes.get(path) != digest}
    return hashes | {path: new[path] for path in new if _hash(folder / path) == new[path]}


def _read(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {path: digest for digest, _, path in (line.partition("  ") for line in lines)}


def present(folder: Path) -> list[str]:
    """Paths of all files below `folder` but the list, hidden ones and files of hidden folders."""
    files = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return [
        str(path)
        for path in files
        if str(path) != LIST and not any(part[0] == "." for part in path.parts)
    ]


def write(
    folder: Path, files: Mapping[str, bytes], below: tuple[str, ...] = (), keep: Container[str] = ()
) -> None:
    """Write files, in this order, and list them. Of the paths that begin with one of `below` only the ones in `keep`
    stay listed beside them.

    Killed anywhere each file is the old or the new one, and listed; the next call of `write` or `settle` ends it.
    """
    hashes = {
        path: digest
        for path, digest in listed(folder).items()
        if path in keep or not path.startswith(below)
    }
    after = hashes | {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    atomic.sweep(folder / path for path in files)
    atomic.write_text(folder / NEXT, _lines(after))
    for path, data in files.items():
        atomic.write_bytes(folder / path, data)
    _put(folder, after)


def settle(folder: Path) -> None:
    """End what a killed `write` has begun."""
    if (folder / NEXT).is_file():
        _put(folder, listed(folder))


def _put(folder: Path, hashes: dict[str, str]) -> None:
    atomic.sweep((folder / LIST, folder / NEXT))
    atomic.write_text(folder / LIST, _lines(hashes))
    (folder / NEXT).unlink(missing_ok=True)


def _lines(hashes: dict[str, str]) -> str:
    return "".join(f"{digest}  {path}\n" for path, digest in sorted(hashes.items()))


def check(folder: Path, path: str) -> None:
    """Raises FairflError if a listed file is missing or another one, if a file is not listed, or if there are files and
    no list."""
    hashes, place = listed(folder), folder / path
    if not hashes and present(folder):
        raise _damaged(folder / LIST, "is missing or empty")
    if path not in hashes and place.exists():
        raise FairflError(f"{place}: is not listed among the stored results ({folder / LIST})")
    if path in hashes and not place.is_file():
        raise _damaged(place, "is missing")
    if path in hashes and _hash(place) != hashes[path]:
        raise _damaged(place, "is not as it was recorded")


def _damaged(place: Path, why: str) -> FairflError:
    back = f"`git checkout -- {place}` brings it back (a change that is meant: python -m fairfl.recorded.sums)"
    return FairflError(f"{place}: {why}; stored results are damaged: {back}")


def faults(folder: Path) -> Iterator[tuple[str, str, str]]:
    """(damaged or foreign, path, what) of every file of the record that is not as the list says."""
    hashes, there = listed(folder), present(folder)
    for path in sorted({*hashes, *there}) if hashes else there and [LIST]:
        try:
            check(folder, path)
        except FairflError as error:
            yield "foreign" if hashes and path not in hashes else "damaged", path, str(error)


def _hash(path: Path) -> str:
    """ "" if the file does not exist."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def main(argv: list[str] | None = None) -> None:
    _put(FOLDER, {path: _hash(FOLDER / path) for path in present(FOLDER)})
    print(f"wrote {FOLDER / LIST}: {len(listed(FOLDER))} files")


if __name__ == "__main__":
    cli.run(main)
