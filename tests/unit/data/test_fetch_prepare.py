"""The two commands."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest

from fairfl.data import pretrained
from fairfl.jobs import fetch, prepare
from fairfl.runtime.errors import DataError, SourceError
from tests.unit.data import toys


def test_fetch_writes_the_marker(tmp_path, any_checksum):
    mirror, out, name = tmp_path / "m", tmp_path / "o" / "m.json", "t10k-labels-idx1-ubyte.gz"
    toys.mnist(mirror / "mnist")
    arguments = ["--dataset", "mnist", "--options", '{"part": "test"}', "--offline"]
    arguments += ["--folder", str(tmp_path / "data"), "--out", str(out)]
    fetch.main([*arguments, "--mirror", "/nowhere", "--mirror", str(mirror)])
    marker, data = json.loads(out.read_text()), (mirror / "mnist" / name).read_bytes()
    about = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    assert marker["dataset"] == "mnist" and str(tmp_path) not in out.read_text()
    assert marker["files"][1] == {"name": name, **about, "path": f"mnist/{name}", "source": "mirror"}
    fetch.main(arguments)
    assert [file["source"] for file in json.loads(out.read_text())["files"]] == ["local folder"] * 2


def test_fetch_of_published_weights(tmp_path, monkeypatch):
    """They land where models look for them, checked by their full digest."""
    content = b"weights"
    digest = hashlib.sha256(content).hexdigest()
    published = pretrained.published(f"resnet18-{digest[:8]}.pth", digest)
    monkeypatch.setitem(pretrained.PUBLISHED, "resnet18", published)
    monkeypatch.setenv(pretrained.DATA_FOLDER, str(tmp_path / "data"))
    mirror, out = tmp_path / "m" / "torchvision" / published.name, tmp_path / "m.json"
    mirror.parent.mkdir(parents=True)
    arguments = ["--weights", "resnet18", "--folder", str(tmp_path / "data"), "--out", str(out), "--offline"]
    arguments += ["--mirror", str(tmp_path / "m")]
    mirror.write_bytes(b"damaged")
    with pytest.raises(SourceError, match="no usable copy of resnet18"):
        fetch.main(arguments)
    assert not out.exists()
    mirror.write_bytes(content)
    fetch.main(arguments)
    marker = json.loads(out.read_text())
    assert marker["weights"] == "resnet18"
    assert (marker["files"][0]["path"], marker["files"][0]["source"]) == (f"torchvision/{published.name}", "mirror")
    assert pretrained.find_weights("imagenet", "resnet18").read_bytes() == content


@pytest.mark.slow
def test_prepare_is_the_same_in_every_process(tmp_path):
    """The safetensors library orders metadata by a seed that differs between processes."""
    spec = json.dumps({"name": "synthetic_gaussian", "seed": 1})
    contents = set()
    for name in "ab":
        command = [sys.executable, "-m", "fairfl.jobs.prepare", "--spec", spec, "--out", tmp_path / name]
        subprocess.run(command, check=True, timeout=600)
        contents.add((tmp_path / name).read_bytes())
    prepare.main(["--spec", spec, "--out", str(tmp_path / "d")])
    contents.add((tmp_path / "d").read_bytes())
    assert len(contents) == 1


def test_prepare_failure_keeps_the_old_file(tmp_path, any_checksum):
    toys.mnist(tmp_path / "mnist")
    (tmp_path / "mnist" / "train-labels-idx1-ubyte.gz").write_bytes(toys.idx(np.zeros(39)))
    out = tmp_path / "f"
    out.write_text("old")
    with pytest.raises(DataError, match=r"mnist: labels have shape \[59\]; expected \[60\]"):
        arguments = ["--spec", '{"name": "mnist"}', "--folder", str(tmp_path), "--out", str(out)]
        prepare.main(arguments)
    assert out.read_text() == "old"
