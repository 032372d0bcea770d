"""python -m fairfl.workflow.verify: read every result and the record; exit 1 if a file is not as its job left it.

Also named are files below results/ that no job has left (foreign), and results of jobs that are in no plan any more
(orphaned), kept ones included. Nothing is changed; with `--clear` orphaned results and files that were set aside as
damaged are deleted, but nothing that is kept or foreign.
"""

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fairfl.experiments.config import TEMPLATE
from fairfl.recorded import sums
from fairfl.recorded.record import FOLDER
from fairfl.runtime import cli, kept, records
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import from_text
from fairfl.workflow import snakemake, snapshot
from fairfl.workflow.graph import Graph

# Not results: what jobs print, record and run, what a plan says, where a training goes on.
_BESIDE = ("logs", "records", kept.FOLDER, snapshot.FOLDER)
_NOTES = ("plan.txt", "plan.csv", "checkpoint.pt")

Finding = tuple[str, str]  # damaged, foreign or orphaned; what


class Verifier:
    """`count` is the number of files that were read."""

    def __init__(self) -> None:
        self.count = 0

    def folder(self, folder: Path) -> Iterator[Finding]:
        """A folder of results, as results/quick."""
        claimed: set[str] = set()
        for path in sorted(folder.glob("**/records/**/*.json")):
            record = records.read(path)
            if record is None:
                yield "damaged", f"{path}: is no record"
                continue
            claimed |= record["outputs"].keys()
            yield from self._result(path, record)
        for below in sorted(kept.folders(str(folder))):
            result = kept.at(below)
            self.count += len(result.record["outputs"]) if result else 0
            if result is None or not result.whole:
                yield "damaged", f"{below}: what is kept here is damaged"
        for place, _, names in os.walk(folder):
            if not set(_BESIDE) & set(Path(place).relative_to(folder).parts):
                files = (
                    os.path.join(place, name)
                    for name in names
                    if name not in _NOTES and not name.startswith(".")
                )
                yield from (("foreign", path) for path in sorted(files) if path not in claimed)

    def _result(self, place: Path, record: dict) -> Iterator[Finding]:
        for path in record["outputs"]:
            self.count += 1
            if why := records.damage(path, record):
                yield "damaged", f"{os.path.dirname(path)}: {why} ({place})"

    def recorded(self, folder: Path) -> Iterator[Finding]:
        """Every file of the record, held against the list of their hashes."""
        self.count += len(sums.present(folder))
        yield from ((kind, what) for kind, _, what in sums.faults(folder))


def orphaned(graph: Graph, folder: Path) -> Iterator[tuple[str, Path]]:
    """(job, record or kept folder) of results that no target of the scale asks for."""
    targets = ["all", "tuned", "calibrated", *graph.workload.known]
    planned = {job.name for target in targets for job in graph.below(graph.wanted(target))}
    found = {
        path: path.relative_to(folder / "records").with_suffix("")
        for path in folder.glob("records/**/*.json")
    }
    found |= {
        path: path.parent.relative_to(folder / kept.FOLDER) for path in kept.folders(str(folder))
    }
    return ((str(name), path) for path, name in sorted(found.items()) if str(name) not in planned)


def clear(graph: Graph, folder: Path) -> int:
    """Delete orphaned results of a scale, and what was set aside in all of results/; the number of files.

    Raises FairflError where not all is planned: what a selection leaves out is in no plan.
    """
    config = graph.workload.config
    selecting = ("artifacts", "settings", "algorithms", "seeds", "budget")
    left_out = [key for key in selecting if getattr(config, key) is not None]
    if {path.stem for path in Path("papers").glob("[!.]*.yaml")} - {TEMPLATE, *config.papers}:
        left_out.append("papers")
    if left_out:
        raise FairflError(
            f"clear: {', '.join(left_out)}: what is not selected would be deleted. Try papers='*' alone"
        )
    gone = [
        path
        for path in Path("results").glob(f"**/*{records.DAMAGED}")
        if FOLDER not in path.parents
    ]
    for _, path in orphaned(graph, folder):
        if path.is_file() and (record := records.read(path)):
            gone += [
                *(
                    Path(output)
                    for output in record["outputs"]
                    if not records.damage(output, record)
                ),
                path,
            ]
    for path in gone:
        print(f"deleted: {path}")
        path.unlink()
        with contextlib.suppress(OSError):  # until one is not empty
            os.removedirs(path.parent)
    return len(gone)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.workflow.verify", description=__doc__)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    parser.add_argument("--clear", action="store_true", help="delete what is orphaned or set aside")
    args = parser.parse_args(argv)
    begun = time.monotonic()
    parsed = snakemake.parsed(args.root, from_text(args.config, dict, "--config"))
    if args.clear:
        print(f"{clear(parsed['graph'], Path(parsed['RESULTS']))} files deleted")
        return
    verifier, found = Verifier(), {"damaged": 0, "foreign": 0, "orphaned": 0}

    def findings() -> Iterator[Finding]:
        for folder in sorted(
            path for path in Path("results").iterdir() if path.is_dir() and path != FOLDER
        ):
            yield from verifier.folder(folder)
        yield from verifier.recorded(FOLDER)
        for name, path in orphaned(parsed["graph"], Path(parsed["RESULTS"])):
            yield (
                "orphaned",
                f"{name}: in no plan at scale {parsed['graph'].workload.scale.scale} ({path})",
            )

    for kind, what in findings():
        found[kind] += 1
        print(f"{kind}: {what}")
    numbers = ", ".join(f"{number} {kind}" for kind, number in found.items())
    print(f"read {verifier.count:,} files in {time.monotonic() - begun:.1f} s: {numbers}")
    if any(found.values()):
        print(f"`fairfl clear` deletes what is orphaned but not kept, and *{records.DAMAGED}")
        sys.exit(1)


if __name__ == "__main__":
    cli.run(main)
