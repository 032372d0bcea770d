"""Data of the user's own experiments, read before the first job as its job will read them: columns, owners, parts.

Published data are known by their checksums; a file that only the user has may hold anything, and what needs no file
can be dealt at once.
"""

import json
from functools import cache
from pathlib import Path

from fairfl.data import checks, registry
from fairfl.data.interface import Prepared
from fairfl.experiments.workload import Workload
from fairfl.jobs import partition
from fairfl.partition import deal
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import canonical

_MOST_BYTES = 1 << 26  # of a file: larger ones would keep every plan waiting


def check(workload: Workload) -> None:
    """Raises FairflError with paper, setting and what is wrong with the file, or with what is asked of it."""
    for name, setting in workload.settings.items():
        try:
            if (own := prepared(workload, name)) is not None:
                spec = partition.spec(workload, name) | {"seed": setting.seeds[0]}
                deal.partition(deal.Spec.model_validate(spec), own.tensors)
        except FairflError as error:
            raise FairflError(f"papers/{workload.paper_of[name]}.yaml: settings.{name}: {error}") from None


def prepared(workload: Workload, setting: str) -> Prepared | None:
    """What a setting's data will be, if they are a file of the user's own in the data folder, not a large one, or need
    no file in an experiment of the user's own; else None.

    Raises DataError.
    """
    declared, folder = workload.settings[setting], Path(workload.config.data_folder)
    data, seed = declared.data, declared.seeds[0]
    files = registry.files(data.name, data.options)
    if not files and workload.papers[workload.paper_of[setting]].sources == "own":
        return _read(data.name, canonical(data.options), folder, seed)
    for file in files:
        if file.urls or file.sha256 or file.md5 or file.instead or not checks.has(folder, file, data.name):
            return None
    paths = [folder / file.relative(data.name) for file in files]
    if not paths or sum(path.stat().st_size for path in paths) > _MOST_BYTES:
        return None
    return _read(data.name, canonical(data.options), folder, seed)


@cache
def _read(name: str, options: str, folder: Path, seed: int) -> Prepared:
    module = registry.load(name)
    return module.prepare(folder, module.Config(**json.loads(options)), seed)
