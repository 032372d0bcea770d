"""Pre-trained models of the Hugging Face hub that lie on this machine. Nothing is downloaded here.

A text is worth as much to a model as their vocabularies agree, so the data and the model both ask this module, and for
both a model is there only if it is complete: configuration, vocabulary and weights.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

BERT = "bert-base-uncased"

CONFIG, VOCABULARY, WEIGHTS = FILES = ("config.json", "vocab.txt", "model.safetensors")

DATA_FOLDER = "FAIRFL_DATA_FOLDER"
"""Environment variable: the data folder, for those who are not told otherwise."""

# The hub moved models without an owner to their owners; caches know them under the name that was asked for.
_OWNERS = {BERT: "google-bert"}


def find(name: str, data_folder: Path | None = None) -> Path | None:
    """Folder of the model, or None if this machine does not have all of its FILES.

    Looked for, in this order, are the folder `name`, `<data folder>/<name>` and the cache of the hub.

    Args:
        name: a folder, or the name of a model of the hub such as "bert-base-uncased".
        data_folder: None: the one that the environment names, or "data".
    """
    data_folder = Path(os.environ.get(DATA_FOLDER, "data")) if data_folder is None else data_folder
    for folder in (Path(name).expanduser(), data_folder / name, *_cached(name)):
        if all((folder / file).is_file() for file in FILES):
            return folder
    return None


def _cached(name: str) -> Iterator[Path]:
    """Folders of the newest snapshot in the cache of the hub, which keeps them by commit."""
    names = [name, f"{_OWNERS[name]}/{name}"] if name in _OWNERS else [name]
    for entry in (f"models--{full.replace('/', '--')}" for full in names):
        newest = _hub_cache() / entry / "refs" / "main"
        if newest.is_file():
            yield _hub_cache() / entry / "snapshots" / newest.read_text("utf-8").strip()


def _hub_cache() -> Path:
    """As huggingface_hub finds it."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", f"{cache}/huggingface")
    return Path(os.environ.get("HF_HUB_CACHE", f"{home}/hub")).expanduser()
