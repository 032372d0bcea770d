"""Data of the user's own, read and partitioned before the first job as jobs will: what these would refuse or have to
change.

Published data are known by their checksums; a file that only the user has may hold anything, and what needs no file
can be partitioned at once.
"""

import json
from functools import cache
from pathlib import Path

from fairfl.data import checks, registry
from fairfl.data.interface import Prepared
from fairfl.experiments.plugins import module
from fairfl.experiments.workload import Workload
from fairfl.jobs import partition
from fairfl.partition import deal
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import canonical
from fairfl.runtime.hooks import blaming, code_of

_MOST_BYTES = 1 << 26  # of a setting's files: larger ones would keep every plan waiting


def partition_own_data(workload: Workload) -> dict[str, list[str]]:
    """For each setting whose data are at hand what they are, in words, and what their partition had to change.

    Raises FairflError with paper, setting and what is wrong with a file, or with what is asked of it.
    """
    descriptions = {}
    for name, setting in workload.settings.items():
        try:
            if (own := prepared(workload, name)) is not None:
                spec = deal.PartitionSpec.model_validate(
                    partition.spec(workload, name) | {"seed": setting.seeds[0]}
                )
                with blaming(code_of(module("partition", spec.partition.name).assign)):
                    columns, assignment = deal.partition(spec, own.tensors)
                description = deal.described(
                    assignment, own.metadata, columns, own.tensors.get("client")
                )
                actual = len(set(json.loads(description.get("clusters", "[0]"))))
                if setting.surrogate and setting.surrogate.clusters not in (1, actual):
                    raise FairflError(
                        f"surrogate.clusters is {setting.surrogate.clusters}, the partition's number of true clusters "
                        f"is {actual}; a table says them in the column that `cluster` names"
                    )
                descriptions[name] = [
                    own.metadata["source"],
                    *json.loads(description.get("changed", "[]")),
                ]
        except FairflError as error:
            raise FairflError(f"{workload.file_of(name)}: settings.{name}: {error}") from None
    return descriptions


def prepared(workload: Workload, setting: str) -> Prepared | None:
    """Data that a setting will have, if they are a file of the user's own in the data folder, not a large one, or need
    no file in an experiment of the user's own; else None.

    Raises DataError.
    """
    declared, folder = workload.settings[setting], Path(workload.config.data_folder)
    data = declared.data
    files = registry.files(data.name, data.options)
    if not files and workload.papers[workload.paper_of[setting]].sources != "own":
        return None
    if any(file.is_published or not checks.has_file(folder, file, data.name) for file in files):
        return None
    if sum((folder / file.relative(data.name)).stat().st_size for file in files) > _MOST_BYTES:
        return None
    return _read(data.name, canonical(data.options), folder, declared.seeds[0])


@cache
def _read(name: str, options: str, folder: Path, seed: int) -> Prepared:
    dataset = registry.load(name)
    with blaming(code_of(dataset.prepare)):
        return dataset.prepare(folder, dataset.Config(**json.loads(options)), seed)
