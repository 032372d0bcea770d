"""The data sets, one module each: files of this folder with a `class Config`, their options."""

from typing import Any, cast

from fairfl.data.interface import Dataset, RemoteFile
from fairfl.experiments.plugins import known, module
from fairfl.runtime.errors import FairflError


def load(name: str) -> Dataset:
    """The module of one data set. Raises FairflError with the nearest name if it is missing."""
    try:
        known("data")(name)
    except ValueError as error:
        raise FairflError(f"dataset: {error}") from None
    return cast(Dataset, module("data", name))


def files(name: str, options: dict[str, Any]) -> tuple[RemoteFile, ...]:
    """The raw files that a data set needs under these options; none where its module says nothing of files."""
    dataset = load(name)
    return dataset.files(dataset.Config(**options)) if hasattr(dataset, "files") else ()
