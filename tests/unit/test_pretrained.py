"""Where pre-trained models are looked for."""

from pathlib import Path

import pytest

from fairfl import pretrained

NAME = "bert-base-uncased"


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", pretrained.DATA_FOLDER):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def put(folder, files=pretrained.FILES):
    folder.mkdir(parents=True)
    for name in files:
        (folder / name).write_text("x")
    return folder


def put_in_cache(hub, name, commit="abc"):
    entry = hub / f"models--{name}"
    (entry / "refs").mkdir(parents=True)
    (entry / "refs" / "main").write_text(f"{commit}\n")
    put(entry / "snapshots" / "old")
    return put(entry / "snapshots" / commit)


def test_nowhere():
    assert pretrained.find(NAME) is None


def test_the_folder_then_the_data_folder_then_the_cache(tmp_path, monkeypatch):
    cached = put_in_cache(tmp_path / "home" / ".cache" / "huggingface" / "hub", NAME)
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


@pytest.mark.parametrize(
    ("variable", "value", "hub"),
    [
        ("XDG_CACHE_HOME", "cache", "cache/huggingface/hub"),
        ("HF_HOME", "hf", "hf/hub"),
        ("HF_HUB_CACHE", "hub", "hub"),
    ],
)
@pytest.mark.parametrize("entry", [NAME, f"google-bert--{NAME}"])
def test_the_cache_is_where_the_hub_has_it(tmp_path, monkeypatch, variable, value, hub, entry):
    cached = put_in_cache(tmp_path / hub, entry)
    assert pretrained.find(NAME) is None
    monkeypatch.setenv(variable, str(tmp_path / value))
    assert pretrained.find(NAME) == cached


def test_models_with_an_owner(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    assert pretrained.find("them/small") is None
    cached = put_in_cache(tmp_path / "hub", "them--small")
    assert pretrained.find("them/small") == cached


@pytest.mark.parametrize("missing", pretrained.FILES)
def test_an_incomplete_model_is_not_there(tmp_path, missing):
    put(tmp_path / "data" / NAME, [name for name in pretrained.FILES if name != missing])
    assert pretrained.find(NAME) is None
