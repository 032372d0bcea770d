"""python -m fairfl.jobs.restore: results of the record, or kept ones, in the place of those that jobs would leave.

Not a job of the graph: it stands in for others, and leaves their records as if they had run.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from fairfl.experiments.base import JobSpec
from fairfl.recorded.record import FOLDER, METRICS, Entry, Record, setting_of
from fairfl.runtime import atomic, cli, kept, records
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import fingerprint
from fairfl.runtime.validation import from_text


class Restoration(JobSpec):
    """A job whose results come from elsewhere: the folder that they are `kept` in or, if that is "", the record."""

    job: str
    outputs: list[str]
    record: str
    kept: str = ""
    entry: str = ""
    spec: dict[str, Any] = {}
    inputs: dict[str, str] = {}

    @property
    def written(self) -> list[Path]:
        return [*map(Path, self.outputs), Path(self.record)]


def move_back(wanted: Restoration) -> None:
    """Leave a result that is kept. Raises FairflError, by name, if it is damaged."""
    result = kept.at(Path(wanted.kept))
    if result is None or not result.whole:
        raise FairflError(
            f"{wanted.kept}: what is kept of {wanted.job} is damaged; run the same command again"
        )
    atomic.sweep(wanted.written)
    result.put_back(Path(wanted.record))


def restore(wanted: Restoration, record: Record) -> None:
    """Leave results and record of a job. Raises FairflError, by name, if stored results are damaged or lack it."""
    entry = next(
        (entry for entry in record.jobs.get(wanted.job, []) if entry.hash == wanted.entry), None
    )
    if entry is None:
        raise FairflError(f"{record.path}: {wanted.job}: has no entry {wanted.entry}")
    results = wanted.record.partition("records/")[0]
    outputs = list(map(Path, wanted.outputs))
    atomic.sweep(wanted.written)
    for path in outputs:
        _write(path, str(path).removeprefix(results), wanted, record, entry)
    # What it read may be another copy of the data, which its source says: no content is held against it.
    inputs = {path: [made_from, ""] for path, made_from in wanted.inputs.items()}
    records.write(
        Path(wanted.record),
        wanted.spec,
        inputs,
        outputs,
        arithmetic=entry.arithmetic,
        recorded=entry.hash,
    )


def _write(path: Path, below: str, wanted: Restoration, record: Record, entry: Entry) -> None:
    if below in entry.results:
        spec = {**entry.spec, "code": record.code[entry.code]}
        note = {
            "commit": entry.origin.commit,
            "same_code": fingerprint(wanted.spec["code"]) == entry.code,
            "date": entry.origin.date,
        }
        how = {
            "versions": entry.origin.versions,
            "spec": spec,
            "fingerprint": fingerprint(spec),
            "arithmetic": entry.arithmetic,
            "recorded": note,
        }
        atomic.write_text(
            path, json.dumps({**entry.results[below], **how}, indent=1, sort_keys=True) + "\n"
        )
    elif below.endswith(METRICS):
        import pyarrow.parquet as pq

        with atomic.replacing(path) as temporary:
            pq.write_table(record.metrics(wanted.job, entry), temporary)
    elif below in entry.outputs or below in entry.inline:
        atomic.write_bytes(path, record.file(wanted.job, entry, below))
    else:
        raise FairflError(f"{record.path}: {wanted.job}: has no {below}")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.jobs.restore", description=__doc__)
    parser.add_argument("--jobs", required=True, type=Path, help="what to restore (JSON)")
    parser.add_argument("--recorded", type=Path, default=FOLDER, help="folder of the record")
    args = parser.parse_args(argv)
    wanted = from_text(args.jobs.read_bytes(), list[Restoration], str(args.jobs))
    known: dict[str, Record] = {}
    with atomic.synced_together():
        for job in wanted:
            if job.kept:
                move_back(job)
                continue
            setting = setting_of(job.job)
            if setting not in known:
                known[setting] = Record(setting, args.recorded)
            restore(job, known[setting])
    back = sum(bool(job.kept) for job in wanted)
    print(
        f"{len(wanted) - back} jobs of {len(known)} settings from stored results, {back} that were kept"
    )


if __name__ == "__main__":
    cli.run(main)
