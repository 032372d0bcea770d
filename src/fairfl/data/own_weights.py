"""What `model.pretrained` means on this machine, for the specs of jobs that build the model; only planning asks."""

from pathlib import Path
from typing import TYPE_CHECKING

from fairfl.data import pretrained, registry
from fairfl.runtime import hashes

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def of_spec(workload: "Workload", setting: str) -> dict[str, dict[str, str]]:
    """`pretrained_sha256` of a spec, or nothing where no file of the user's own is meant: see `pretrained.contents`.

    Raises FairflError if a file cannot be read.
    """
    declared = workload.settings[setting]
    choice = declared.model.options.get("pretrained")
    found = pretrained.contents(choice, Path(workload.config.data_folder), hashes.sha256)
    if not found and isinstance(choice, str) and choice not in ("", pretrained.AUTO):
        # A model that its data bring along is known before they are fetched, or all would train once more afterwards.
        files = registry.files(declared.data.name, declared.data.options)
        coming = {file.name: file.sha256[0] for file in files if file.folder == choice and file.sha256}
        found = pretrained.shortened(coming)
    return {"pretrained_sha256": found} if found else {}
