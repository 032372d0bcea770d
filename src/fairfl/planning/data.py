"""Shape, classes and samples of data that may not be prepared yet, and where their files would come from."""

import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from fairfl.data import prepared, pretrained, registry
from fairfl.data.interface import RemoteFile
from fairfl.experiments.base import Strict
from fairfl.experiments.config import Config
from fairfl.experiments.workload import Workload
from fairfl.planning import own_data
from fairfl.planning.reference import reference
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import canonical

Source = Literal["local", "download", "unavailable"]
PREPARED = Path("results/data")


class Facts(Strict):
    """What operations depend on."""

    shape: list[int] = Field(
        description="of one sample: [channels, height, width], [features] or [tokens]"
    )
    tokens: bool = Field(False, description="samples are texts: whole numbers")
    sequences: bool = Field(False, description="a label at each token")
    classes: int = Field(description="0: a regression")
    samples: int
    official_test: int = Field(0, description="of these")

    @property
    def numbers(self) -> int:
        """In one sample."""
        return math.prod(self.shape)


def facts(workload: Workload, setting: str) -> Facts:
    """Facts of the prepared data if these are here or can be drawn, else as published.

    Raises FairflError if nobody knows.
    """
    declared = workload.settings[setting]
    data, seed = declared.data, declared.seeds[0]
    path = PREPARED / f"{workload.prepared(setting, seed)}.safetensors"
    if path.is_file():
        return _stored(path)
    if not registry.files(data.name, data.options):
        return _drawn(data.name, canonical(data.options), seed)
    if (own := own_data.prepared(workload, setting)) is not None:
        return _facts(own.tensors, int(own.metadata["classes"]))
    known = reference()["data"].get(data.name)
    if known is None:
        raise FairflError(
            f"{setting}: nothing is known of data {data.name} before they are prepared"
        )
    return _selected(Facts(**known), data.options)


def _stored(path: Path) -> Facts:
    tensors, metadata = prepared.load(path, "inputs", "labels", optional=("official_test",))
    return _facts(tensors, int(metadata["classes"]))


@cache
def _drawn(name: str, options: str, seed: int) -> Facts:
    module = registry.load(name)
    made = module.prepare(None, module.Config(**json.loads(options)), seed)
    return _facts(made.tensors, int(made.metadata["classes"]))


def _facts(tensors: dict[str, Any], classes: int) -> Facts:
    inputs, labels, test = tensors["inputs"], tensors["labels"], tensors.get("official_test")
    return Facts(
        shape=list(inputs.shape[1:]),
        tokens=inputs.dtype.kind == "i",
        sequences=labels.ndim > 1,
        classes=classes,
        samples=len(inputs),
        official_test=0 if test is None else int(test.sum()),
    )


def _selected(known: Facts, options: dict[str, Any]) -> Facts:
    """As options that several image data sets have select them: a part, some of the classes."""
    changed: dict[str, Any] = {}
    if options.get("part") in ("train", "test"):
        kept = (
            known.official_test
            if options["part"] == "test"
            else known.samples - known.official_test
        )
        changed = {"samples": kept, "official_test": 0}
    if isinstance(chosen := options.get("classes"), list):
        share = len(chosen) / known.classes
        before = {"samples": known.samples, "official_test": known.official_test} | changed
        changed = {key: round(value * share) for key, value in before.items()} | {
            "classes": len(chosen)
        }
    if options.get("labels") == "coarse":
        changed["classes"] = 20
    return known.model_copy(update=changed)


# -- where files come from --------------------------------------------------------------------------
def source(workload: Workload, key: str) -> Source:
    """Where fairfl.jobs.fetch would find the files of this key: on this machine, on the internet, nowhere."""
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
    forms: list[RemoteFile] = []
    form: RemoteFile | None = file
    while form is not None:
        forms.append(form)
        form = form.instead
    folders = [
        config.data_folder,
        *(mirror for mirror in config.mirrors if urlsplit(mirror).scheme not in _REMOTE),
    ]
    places = [Path(folder.removeprefix("file://")).expanduser() for folder in folders]
    if any((place / form.relative(name)).is_file() for form in forms for place in places):
        return "local"
    remote = any(form.urls for form in forms) or len(places) <= len(config.mirrors)
    return "download" if remote and not config.offline else "unavailable"


_REMOTE = ("http", "https")
