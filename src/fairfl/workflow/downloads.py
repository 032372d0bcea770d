"""Which files are downloaded, and from where, for the rules."""

import shlex

from fairfl.data import pretrained
from fairfl.experiments.config import Config
from fairfl.experiments.declaration import declaration
from fairfl.experiments.workload import Workload
from fairfl.runtime.fingerprint import canonical


def published_weights(workload: Workload, setting: str) -> str | None:
    """The published weights that a setting's model starts from, if it does."""
    model = workload.settings[setting].model
    published = getattr(declaration("models", model.name), "PUBLISHED", None)
    return (
        published if published and model.options.get("pretrained") == pretrained.IMAGENET else None
    )


def requested(workload: Workload, key: str) -> str:
    """Command-line options that say which files are wanted."""
    if key.startswith(pretrained.KEY):
        return f"--weights {key.removeprefix(pretrained.KEY)}"
    data = workload.prepared_by(key)[0]
    return f"--dataset {data.name} --options {shlex.quote(canonical(data.options))}"


def sources(config: Config) -> str:
    """Command-line options that say where raw files may come from."""
    mirrors = [f"--mirror {shlex.quote(mirror)}" for mirror in config.mirrors]
    return " ".join([*mirrors, *(["--offline"] if config.offline else [])])
