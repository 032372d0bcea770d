"""What `model.pretrained` means on this machine, for the specs of jobs that build the model; only planning asks."""

from pathlib import Path
from typing import TYPE_CHECKING

from fairfl.data import pretrained
from fairfl.runtime import hashes

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def hash_for_spec(workload: "Workload", setting: str) -> dict[str, dict[str, str]]:
    """`pretrained_sha256` of a spec, or nothing where no file of the user's own is meant: see `pretrained.hash_files`.

    Raises FairflError if a file cannot be read.
    """
    choice = workload.settings[setting].model.options.get("pretrained")
    digests = pretrained.hash_files(choice, Path(workload.config.data_folder), hashes.sha256)
    return {"pretrained_sha256": digests} if digests else {}
