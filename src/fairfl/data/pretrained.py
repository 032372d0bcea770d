"""Pre-trained models that lie on this machine. Nothing is downloaded here.

Models of the Hugging Face hub are folders. A text is worth as much to a model as their vocabularies agree, so the data
and the model both ask this module, and for both a model is there only if it is complete: configuration, vocabulary and
weights. Image models of torchvision are files of weights, whose names hold the first digits of their sha256.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fairfl.data.interface import RemoteFile
from fairfl.runtime import hashes, inputs, opened
from fairfl.runtime.errors import FairflError

BERT = "bert-base-uncased"
AUTO = "auto"  # in place of a name: BERT if this machine has it

KEY = "weights/"  # begins the keys of published weights among the files to fetch; others are of data sets
CONFIG, VOCABULARY, WEIGHTS = FILES = ("config.json", "vocab.txt", "model.safetensors")

DATA_FOLDER = "FAIRFL_DATA_FOLDER"
"""Environment variable: the data folder, unless a folder is given."""

IMAGENET = "imagenet"
"""Name of the weights that torchvision publishes, in place of a file."""

TORCHVISION = "torchvision"
"""Subfolder of the data folder for them; the data folder itself will do."""


def published(name: str, sha256: str) -> RemoteFile:
    """A file of weights that torchvision publishes."""
    url = f"https://download.pytorch.org/models/{name}"
    return RemoteFile(name, (url,), sha256=(sha256,), folder=TORCHVISION)


# IMAGENET1K_V1: until 2022 the only ones, those of `pretrained=True`.
PUBLISHED = {
    "mobilenet_v2": published(
        "mobilenet_v2-b0353104.pth",
        "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889",
    ),
    "resnet18": published(
        "resnet18-f37072fd.pth", "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec"
    ),
}

# Of the hub, bert-base-uncased: the files that everybody has under this name.
PUBLISHED_BERT = {
    CONFIG: "7160e1553ad2ca51d8c1cb066be533db31826e12d173824c1bb0cb1a4f187d20",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    WEIGHTS: "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
}

FIRST = 101  # [CLS], the token that begins each text of its vocabulary


def find(name: str, data_folder: Path | None = None) -> Path | None:
    """Folder of the model, or None if this machine does not have all of its FILES.

    Looked for, in this order, are the folder `name`, `<data folder>/<name>` and the cache of the hub.

    Args:
        name: a folder, or the name of a model of the hub such as "bert-base-uncased".
        data_folder: None: the one that the environment names, or "data".
    """
    data_folder = _data_folder() if data_folder is None else data_folder
    for folder in (_expand(name), data_folder / name, *_list_cached(name)):
        if all((folder / file).is_file() for file in FILES):
            return folder
    return None


def find_weights(choice: str, model: str) -> Path:
    """The file of weights that is asked for, one whose sha256 begins with the digits in its name, if it has any.

    Args:
        choice: "imagenet" or a file. The former is looked for, in this order, in `torchvision` of the data folder, in
            the data folder and in the cache of torch's hub.
        model: its name in PUBLISHED.

    Raises:
        FairflError: it is nowhere, or is not what its name says.
    """
    file, data_folder = PUBLISHED[model], _data_folder()
    folders = (data_folder / TORCHVISION, data_folder, _torch_hub())
    published = choice == IMAGENET
    for path in (folder / file.name for folder in folders) if published else [_expand(choice)]:
        if path.is_file():
            _verify(path)
            return path
    if published:
        raise FairflError(
            f"model.pretrained: {IMAGENET!r} is {file.name}, which is not in {', '.join(map(str, folders))}; "
            f"download {file.urls[0]} into one of them, or use null, random weights"
        )
    raise FairflError(
        f"model.pretrained: {choice!r} does not hold weights; use {IMAGENET!r}, a file or null"
    )


def _verify(path: Path) -> None:
    """Raises FairflError if the file is not what the digits in its name say (torchvision: <model>-<digits>.pth)."""
    named = re.search(r"-([0-9a-f]{8,64})\.", path.name)
    digest = hashes.read(path)
    if named and not digest.startswith(named[1]):
        raise FairflError(
            f"{path}: damaged, or another file: its sha256 begins with {digest[: len(named[1])]}, not with the "
            f"{named[1]} of its name; delete it and download it again"
        )
    if named:
        inputs.expect(path, named[1])


def hash_files(
    choice: Any, data_folder: Path | None = None, sha256: Callable[[Path], str] | None = None
) -> dict[str, str]:
    """Files that `model.pretrained` means on this machine now: first digits of the sha256 of each, by name.

    Nothing for random weights, for published ones, which their name shows, and for what is not here: data may bring the
    published BERT along after the plan was made.

    Args:
        choice: any value of the option.
        data_folder: as for `find`.
        sha256: planning has one that reads no file twice.

    Raises:
        FairflError: a file cannot be read.
    """
    try:
        digests = {
            file.name: (sha256 or hashes.read)(file) for file in _find_files(choice, data_folder)
        }
    except OSError as error:
        raise FairflError(
            f"model.pretrained: {choice!r}: {error.filename}: {error.strerror}"
        ) from error
    return (
        {} if digests == PUBLISHED_BERT else {name: digest[:16] for name, digest in digests.items()}
    )


def _find_files(choice: Any, data_folder: Path | None = None) -> list[Path]:
    if not isinstance(choice, str) or choice == IMAGENET:
        return []
    if (file := _expand(choice)).is_file():
        return [file]
    folder = find(BERT if choice == AUTO else choice, data_folder)
    return [folder / name for name in FILES] if folder else []


def check(choice: Any, planned: Mapping[str, str]) -> None:
    """Expect the files of a model, which has just been loaded, to be the `contents` of the plan until the job ends.

    Raises FairflError if they are not.
    """
    digests = hash_files(choice)
    if differ := sorted(
        name for name in digests.keys() | planned.keys() if digests.get(name) != planned.get(name)
    ):
        raise FairflError(
            f"model.pretrained: {choice!r}: {', '.join(differ)}: changed since this job was planned; run the "
            "same command again"
        )
    for file in _find_files(choice):
        inputs.expect(file, planned.get(file.name) or PUBLISHED_BERT[file.name])


def _expand(place: str) -> Path:
    """Not Path.expanduser: that raises where the user does not exist."""
    return Path(os.path.expanduser(place))


def _data_folder() -> Path:
    return Path(os.environ.get(DATA_FOLDER, "data"))


def _list_cached(name: str) -> Iterator[Path]:
    """Folders of the newest snapshot in the cache of the hub, which keeps them by commit.

    The hub moved models without an owner to their owners; caches know them under the name that was asked for.
    """
    for full in (name, f"google-bert/{name}"):
        entry = _hub_cache() / f"models--{full.replace('/', '--')}"
        newest = entry / "refs" / "main"
        if newest.is_file():
            with opened.by_fairfl():
                commit = newest.read_text().strip()
            yield entry / "snapshots" / commit


def _cache() -> str:
    return os.environ.get("XDG_CACHE_HOME", "~/.cache")


def _torch_hub() -> Path:
    """As torch.hub finds it."""
    return _expand(os.environ.get("TORCH_HOME", f"{_cache()}/torch")) / "hub" / "checkpoints"


def _hub_cache() -> Path:
    """As huggingface_hub finds it."""
    home = os.environ.get("HF_HOME", f"{_cache()}/huggingface")
    return _expand(os.environ.get("HF_HUB_CACHE", f"{home}/hub"))
