"""Sources of the files of data sets and weights, and the options of fairfl.jobs.fetch."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from fairfl.data import pretrained, registry
from fairfl.data.interface import RemoteFile
from fairfl.experiments.config import Config
from fairfl.experiments.declaration import declaration
from fairfl.experiments.workload import Workload
from fairfl.runtime.fingerprint import canonical

Source = Literal["local", "download", "unavailable"]


def source(workload: Workload, key: str) -> Source:
    """Place where fairfl.jobs.fetch would find the files of this key: on this machine, on the internet, nowhere."""
    if key.startswith(pretrained.KEY):
        files: Iterable[RemoteFile] = [pretrained.PUBLISHED[key.removeprefix(pretrained.KEY)]]
        name = "weights"
    else:
        data = workload.prepared_by(key)[0]
        name, files = data.name, registry.files(data.name, data.options)
    return farthest(_source(file, name, workload.config) for file in files if not file.otherwise)


def farthest(sources: Iterable[Source]) -> Source:
    """The farthest of several; local of none."""
    order: tuple[Source, ...] = ("local", "download", "unavailable")
    return max(sources, key=order.index, default="local")


def _source(file: RemoteFile, name: str, config: Config) -> Source:
    forms = [file]
    while instead := forms[-1].instead:
        forms.append(instead)
    places = [
        Path(folder.removeprefix("file://"))
        for folder in (config.data_folder, *config.mirrors)
        if not folder.startswith(("http://", "https://"))
    ]
    if any((place / form.relative(name)).is_file() for form in forms for place in places):
        return "local"
    remote = any(form.urls for form in forms) or len(places) <= len(config.mirrors)
    return "download" if remote and not config.offline else "unavailable"


def published_weights(workload: Workload, setting: str) -> str | None:
    """The published weights that a setting's model starts from, if it does."""
    model = workload.settings[setting].model
    published = getattr(declaration("models", model.name), "PUBLISHED", None)
    return (
        published if published and model.options.get("pretrained") == pretrained.IMAGENET else None
    )


def options_of_fetch(workload: Workload, key: str) -> str:
    """Command-line options for the files that are wanted."""
    if key.startswith(pretrained.KEY):
        return f"--weights {key.removeprefix(pretrained.KEY)}"
    data = workload.prepared_by(key)[0]
    return f"--dataset {data.name} --options {shlex.quote(canonical(data.options))}"


def options_of_places(config: Config) -> str:
    """Command-line options for the places of raw files."""
    mirrors = [f"--mirror {shlex.quote(mirror)}" for mirror in config.mirrors]
    return " ".join([*mirrors, *(["--offline"] if config.offline else [])])
