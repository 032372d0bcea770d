"""Where pre-trained models and files of weights are looked for."""

import hashlib
from pathlib import Path

import pytest
from torchvision.models import MobileNet_V2_Weights, ResNet18_Weights

from fairfl.data import pretrained
from fairfl.runtime.errors import FairflError
from tests.unit.data import toys

NAME = "bert-base-uncased"


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "TORCH_HOME", pretrained.DATA_FOLDER):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def put(folder):
    for name in pretrained.FILES:
        toys.put(folder / name, b"x")
    return folder


def test_the_folder_then_the_data_folder_then_the_cache(tmp_path, monkeypatch):
    entry = tmp_path / "home/.cache/huggingface/hub" / f"models--{NAME}"
    toys.put(entry / "refs/main", b"abc\n")
    put(entry / "snapshots/old")
    cached = put(entry / "snapshots/abc")
    assert pretrained.find(NAME) == cached
    fetched = put(tmp_path / "data" / NAME)
    assert tmp_path / pretrained.find(NAME) == fetched
    elsewhere = put(tmp_path / "elsewhere" / NAME)
    assert pretrained.find(NAME, tmp_path / "elsewhere") == elsewhere
    monkeypatch.setenv(pretrained.DATA_FOLDER, str(tmp_path / "elsewhere"))
    assert pretrained.find(NAME) == elsewhere
    put(tmp_path / NAME)
    assert pretrained.find(NAME) == Path(NAME)
    assert pretrained.find("~/.cache/huggingface/hub/models--bert-base-uncased/snapshots/old").name == "old"


# -- files of weights


@pytest.fixture
def name(monkeypatch):
    """The published file is a small one."""
    digest = hashlib.sha256(b"weights").hexdigest()
    monkeypatch.setitem(pretrained.PUBLISHED, "resnet18", pretrained.published(f"resnet18-{digest[:8]}.pth", digest))
    return f"resnet18-{digest[:8]}.pth"


def test_published_weights_are_looked_for_beside_the_data_then_in_the_cache(tmp_path, monkeypatch, name):
    cached = toys.put(tmp_path / "home/.cache/torch/hub/checkpoints" / name, b"weights")
    assert pretrained.find_weights("imagenet", "resnet18") == cached
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    with pytest.raises(FairflError):
        pretrained.find_weights("imagenet", "resnet18")
    cached = toys.put(tmp_path / "torch/hub/checkpoints" / name, b"weights")
    assert pretrained.find_weights("imagenet", "resnet18") == cached
    monkeypatch.setenv(pretrained.DATA_FOLDER, str(tmp_path / "elsewhere"))
    for folder in (tmp_path / "elsewhere", tmp_path / "elsewhere" / "torchvision"):
        there = toys.put(folder / name, b"weights")
        assert pretrained.find_weights("imagenet", "resnet18") == there


def test_a_file_of_weights_is_what_its_name_says(tmp_path, name):
    found = hashlib.sha256(b"damaged").hexdigest()[:8]
    path = toys.put(tmp_path / "data" / name, b"damaged")
    message = f"{name}: damaged, or another file: its sha256 begins with {found}, not with the {name[9:17]} of its name"
    for choice in ("imagenet", str(path)):
        with pytest.raises(FairflError, match=message):
            pretrained.find_weights(choice, "resnet18")
    path.write_bytes(b"weights")
    assert pretrained.find_weights(str(path), "resnet18") == path
    mine = toys.put(tmp_path / "home/mine.pth", b"anything")
    assert pretrained.find_weights("~/mine.pth", "resnet18") == mine


@pytest.mark.parametrize(
    ("model", "theirs"),
    [("resnet18", ResNet18_Weights.IMAGENET1K_V1), ("mobilenet_v2", MobileNet_V2_Weights.IMAGENET1K_V1)],
)
def test_the_published_files_are_those_of_torchvision(model, theirs):
    own = pretrained.PUBLISHED[model]
    assert own.urls == (theirs.url,)
    assert len(own.sha256[0]) == 64 and f"-{own.sha256[0][:8]}." in own.name
