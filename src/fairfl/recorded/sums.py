"""python -m fairfl.recorded.sums: write results/recorded/SHA256SUMS anew, from what lies there.

The list has the sha256 of every file of the record, as `sha256sum -c` reads it. Whatever writes into the record notes
that here; `fairfl verify` and all that read the record hold it against the list. By hand it is written anew only
after `git diff` has shown that each change is meant.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairfl.runtime import atomic, cli
from fairfl.runtime.errors import FairflError

LIST = "SHA256SUMS"


def listed(folder: Path) -> dict[str, str]:
    """Hash of each file by its path below `folder`; {} without a list, as in a record that is begun."""
    if not (folder / LIST).is_file():
        return {}
    lines = (folder / LIST).read_text(encoding="utf-8").splitlines()
    return {path: found for found, _, path in (line.partition("  ") for line in lines)}


def present(folder: Path) -> list[str]:
    """Paths of all files below `folder` but the list, hidden ones and those of hidden folders."""
    files = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return [
        str(path)
        for path in files
        if str(path) != LIST and not any(part[0] == "." for part in path.parts)
    ]


def note(folder: Path, paths: Iterable[Path], below: Iterable[str]) -> None:
    """List these files, the only ones whose paths begin with one of `below`."""
    starts = tuple(below)
    kept = {path: found for path, found in listed(folder).items() if not path.startswith(starts)}
    new = {str(path.relative_to(folder)): _hash(path) for path in paths}
    lines = (f"{found}  {path}\n" for path, found in sorted((kept | new).items()))
    atomic.write_text(folder / LIST, "".join(lines))


def check(folder: Path, path: str) -> None:
    """Raises FairflError if a listed file is missing or another one, or if a file is not listed though others are."""
    known = listed(folder)
    place = folder / path
    if not known or (path not in known and not place.exists()):
        return
    if path not in known:
        raise FairflError(f"{place}: is not listed among the stored results ({folder / LIST})")
    if not place.is_file() or _hash(place) != known[path]:
        why = "is not as it was recorded" if place.is_file() else "is missing"
        back = f"`git checkout -- {place}` brings it back (a change that is meant: python -m fairfl.recorded.sums)"
        raise FairflError(f"{place}: {why}; stored results are damaged: {back}")


def faults(folder: Path) -> Iterator[tuple[str, str, str]]:
    """(damaged or foreign, path, what) of every file of the record that is not as the list says."""
    known, there = listed(folder), present(folder)
    if there and not known:
        yield (
            "damaged",
            LIST,
            f"{folder / LIST}: is missing: `git checkout -- {folder / LIST}` brings it back",
        )
    for path in sorted({*known, *there} if known else ()):
        try:
            check(folder, path)
        except FairflError as error:
            yield "damaged" if path in known else "foreign", path, str(error)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(argv: list[str] | None = None) -> None:
    from fairfl.recorded.record import FOLDER

    note(FOLDER, [FOLDER / path for path in present(FOLDER)], [""])
    print(f"wrote {FOLDER / LIST}: {len(listed(FOLDER))} files")


if __name__ == "__main__":
    cli.run(main)
