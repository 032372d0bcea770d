"""`fairfl verify` reads every result and the record; `fairfl clear` deletes what today's papers have no use for.

Verify names files that are not as their job left them (damaged), files below results/ that no job has left (foreign),
and results of jobs that no configuration of today's papers asks for (orphaned), kept ones included. It changes nothing.
Clear deletes orphaned results, and files that were set aside as damaged, but nothing that is kept or foreign.
"""

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairfl.experiments.config import TEMPLATE, Config
from fairfl.experiments.strict import yaml_files
from fairfl.experiments.variant import Variant
from fairfl.recorded import FOLDER, sums
from fairfl.runtime import kept, locks, records
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import check
from fairfl.workflow import snakemake, snapshot
from fairfl.workflow.graph import Graph

# Not results: what jobs print, record, compute from and run, what a plan says, where a training goes on.
_BESIDE = ("logs", "records", kept.FOLDER, snapshot.FOLDER, ".jobs")
_NOTES = re.compile(r"plan\.(txt|csv)|(cluster\d+\.)?checkpoint\.pt")

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
                yield "damaged", f"{path}: is not a record"
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
                for name in sorted(names):
                    file = os.path.join(place, name)
                    if not (name.startswith(".") or _NOTES.fullmatch(name) or file in claimed):
                        yield "foreign", file

    def _result(self, place: Path, record: dict) -> Iterator[Finding]:
        for path in record["outputs"]:
            self.count += 1
            if why := records.damage(path, record):
                yield "damaged", f"{os.path.dirname(path)}: {why} ({place})"

    def recorded(self, folder: Path) -> Iterator[Finding]:
        """Every file of the record, compared with the list of their hashes."""
        self.count += len(sums.present(folder))
        yield from ((kind, what) for kind, _, what in sums.faults(folder))


def of_what(job: str) -> tuple[Any, ...]:
    """Return what a job is of, whatever its seed, and however the hyper-parameters of its variant are written."""
    rule, *words = re.sub(r"/seed\d+(?=/|$)", "/seed", job).split("/")
    if rule == "train":
        with contextlib.suppress(FairflError, ValueError):  # a folder that no variant has
            setting, algorithm, folder, _ = words
            return rule, setting, Variant.from_folder(algorithm, folder)
    return rule, *words


def asking_all(config: Config, papers: dict[str, Path]) -> Iterator[Config]:
    """Configurations that together ask for whatever today's papers can be asked for at a scale, but for other seeds."""
    everything = {
        "artifacts": None, "settings": ["*"], "algorithms": None, "seeds": None, "budget": None, "recorded": "use",
    }  # fmt: skip
    for chosen in ["*"], *([[TEMPLATE]] if TEMPLATE in papers else []):
        for tuned in False, True:
            yield config.model_copy(update={**everything, "papers": chosen, "tuned": tuned})


def orphaned(root: Path, config: Config, folder: Path) -> list[tuple[str, Path]]:
    """(job, record or kept folder) of results at a scale that no configuration of today's papers asks for.

    Raises FairflError where a paper cannot be read: it is unknown what it asks for.
    """
    left = {
        path: str(path.relative_to(folder / "records").with_suffix(""))
        for path in sorted(folder.glob("records/**/*.json"))
    }
    left |= {
        path: str(path.parent.relative_to(folder / kept.FOLDER))
        for path in sorted(kept.folders(str(folder)))
    }
    for asking in asking_all(config, yaml_files(root / "papers")):
        if left:
            planned = _planned(root, asking)
            left = {path: job for path, job in left.items() if of_what(job) not in planned}
    return [(job, path) for path, job in left.items()]


def _planned(root: Path, config: Config) -> set[tuple[Any, ...]]:
    """Return what all jobs are of that this configuration has a target for."""
    graph: Graph = snakemake.parsed(root, config.model_dump(mode="json"))["graph"]
    if faulty := graph.workload.faulty:
        raise FairflError("\n".join(faulty.values()))
    return {
        of_what(job.name)
        for target in ("all", "tuned", "calibrated", *graph.workload.known)
        for job in graph.below(graph.wanted(target))
    }


def deletable(root: Path, config: Config, folder: Path) -> list[Path]:
    """Files of orphaned results of a scale, each record after them, and what was set aside in all of results/."""
    paths = [
        path
        for path in sorted(Path("results").glob(f"**/*{records.DAMAGED}"))
        if FOLDER not in path.parents
    ]
    orphans = {path for _, path in orphaned(root, config, folder)}
    needed = {
        output
        for path in folder.glob("records/**/*.json")
        if path not in orphans
        for output in (records.read(path) or {"outputs": ()})["outputs"]
    }
    for path in sorted(orphans):
        if path.is_file() and (record := records.read(path)):
            paths += [
                Path(output)
                for output in record["outputs"]
                if not (output in needed or records.damage(output, record))
            ]
            paths.append(path)
    return paths


def clear(root: Path, raw_config: dict[str, Any], yes: bool = False, dry: bool = False) -> None:
    """Print what is deleted, and delete it after a `yes`, which a person at a terminal is asked for.

    Raises FairflError without a terminal to ask at, or if a paper's needs are unknown.
    """
    config, folder = _locked(raw_config)
    try:
        paths = deletable(root, config, folder)
    except FairflError as error:
        raise FairflError(
            f"nothing is deleted, since what is needed is not known: {error}"
        ) from None
    for path in paths:
        print(path)
    files = "1 file" if len(paths) == 1 else f"{len(paths)} files"
    if paths and not (yes or dry):
        if not sys.stdin.isatty():
            raise FairflError(f"nothing is deleted yet: `fairfl clear --yes` deletes these {files}")
        dry = input(f"delete these {files}? [y/N] ").lower() not in ("y", "yes")
    for path in () if dry else paths:
        path.unlink()
        with contextlib.suppress(OSError):  # until one is not empty
            os.removedirs(path.parent)
    print(f"{files} {'would be ' * dry}deleted")


def verify(root: Path, raw_config: dict[str, Any]) -> None:
    """Print what is damaged, foreign or orphaned; exit 1 if anything is."""
    config, scale = _locked(raw_config)
    begun = time.monotonic()
    verifier, counts = Verifier(), {"damaged": 0, "foreign": 0, "orphaned": 0}

    def findings() -> Iterator[Finding]:
        for folder in sorted(
            path for path in Path("results").iterdir() if path.is_dir() and path != FOLDER
        ):
            yield from verifier.folder(folder)
        yield from verifier.recorded(FOLDER)
        try:
            for name, path in orphaned(root, config, scale):
                yield "orphaned", f"{name}: no paper asks for it at scale {scale.name} ({path})"
        except FairflError as error:
            print(f"what is orphaned is not known: {error}")

    for kind, what in findings():
        counts[kind] += 1
        print(f"{kind}: {what}")
    numbers = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    print(f"read {verifier.count:,} files in {time.monotonic() - begun:.1f} s: {numbers}")
    if any(counts.values()):
        print(f"`fairfl clear` deletes what is orphaned but not kept, and *{records.DAMAGED}")
        sys.exit(1)


def _locked(raw_config: dict[str, Any]) -> tuple[Config, Path]:
    """The configuration, and the folder of its scale, in which no workflow may run until this process ends."""
    config = check(raw_config, Config, "config.yaml")
    folder = Path("results", config.scale)
    if folder.is_dir():
        locks.workflow_lock(folder / ".lock")
    return config, folder
