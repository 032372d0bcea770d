"""The one door of stored results: what a job reads of a job whose result is stored, as if that one had left files."""

import json
from functools import cache
from typing import TYPE_CHECKING

from fairfl.recorded.record import METRICS, Record, setting_of
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import fingerprint

if TYPE_CHECKING:
    import pyarrow as pa


def content(job: str, entry: str, below: str, same_code: bool) -> "bytes | pa.Table":
    """A file of a job by its path below results/full/; of a training's curves the table, which need not be parsed.

    Raises FairflError, by name, if stored results are damaged or lack it.
    """
    record = _record(setting_of(job))
    stored = next((one for one in record.jobs.get(job, []) if one.hash == entry), None)
    if stored is None:
        raise FairflError(f"{record.path}: {job}: has no entry {entry}")
    if below.endswith(METRICS):
        return record.metrics(job, stored)
    if below not in stored.results:
        return record.file(job, stored, below)
    spec = {**stored.spec, "code": record.code[stored.code]}
    origin = stored.origin
    how = {
        "versions": origin.versions,
        "spec": spec,
        "fingerprint": fingerprint(spec),
        "arithmetic": stored.arithmetic,
        "recorded": {"commit": origin.commit, "same_code": same_code, "date": origin.date},
    }
    return json.dumps({**stored.results[below], **how}).encode()


@cache
def _record(setting: str) -> Record:
    return Record(setting)
