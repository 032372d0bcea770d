"""From the download of EMNIST's archive to EAGLE's tables, by the command of docs/data.md, on generated files."""

import csv
import gzip
import hashlib
import shutil
import struct
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fairfl.data.emnist import _ARCHIVE
from tests.unit.data.conftest import Server
from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("emnist")]

SHORT = """
scale: tiny
description: EAGLE on EMNIST itself, for a few rounds.
patches:
  - match: ["eagle_emnist_linear_*"]
    set: {samples: 1240, rounds: 4, evaluate_every: 2, local_optimum.max_steps: 4}
    why: test
"""
# As documented, but for the scale and all but one of the settings.
DOCUMENTED = "scale=full papers=eagle settings=eagle_emnist_linear_* seeds=0"
SELECTION = ["scale=tiny", "papers=eagle", "settings=eagle_emnist_linear_a0.5", "seeds=0"]


def archive(path: Path, train: int, test: int) -> str:
    """Write gzip.zip with so many images of split ByClass, generated: rows and columns swapped as published; returns
    its sha256.
    """
    shapes = np.random.default_rng(0).random((62, 28, 28)) < 0.2  # strokes of its own for each class
    with zipfile.ZipFile(path, "w") as packed:
        for number, (part, count) in enumerate({"train": train, "test": test}.items()):
            labels = np.arange(count) % len(shapes)
            strokes = np.random.default_rng([1, number]).random((count, 28, 28)) < 0.6
            images = (shapes[labels] & strokes).transpose(0, 2, 1).astype(np.uint8) * 255
            for kind, array in (("images-idx3", images), ("labels-idx1", labels.astype(np.uint8))):
                head = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
                member = f"gzip/emnist-byclass-{part}-{kind}-ubyte.gz"
                packed.writestr(member, gzip.compress(head + array.tobytes(), 1))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A server that has the archive: its address, and the checksum of what it has."""
    checksum = archive(tmp_path / "gzip.zip", 3100, 620)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as server:
        server.answers["/emnist/gzip.zip"] = [(200, {}, (tmp_path / "gzip.zip").read_bytes())]
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.url, checksum
        server.shutdown()


def test_one_command_goes_from_the_download_to_the_tables(root, tmp_path, mirror):
    assert DOCUMENTED in (root / "docs/data.md").read_text()
    url, checksum = mirror
    project = Project(root, tmp_path / "project", SHORT, SELECTION)
    project.edit("src/fairfl/data/emnist.py", _ARCHIVE.sha256[0], checksum)
    served = (f"mirrors={url}",)
    project.snakemake("--quiet", "rules", "host", config=served)
    assert (project.folder / "data/emnist/gzip.zip").read_bytes() == (tmp_path / "gzip.zip").read_bytes()
    tables = [path for path in project.folder.glob("results/tiny/eagle/table*.csv") if "side_by_side" not in path.name]
    lines = [line for path in tables for line in csv.DictReader(path.open()) if "a0.5" in line.get("setting", "")]
    numbers = [line for line in lines if line["metric"] in ("accuracy_balanced", "gap_max", "gap_min", "gap_var")]
    assert len(numbers) == 40 and all(line["mean"] and line["data"] == "emnist" for line in numbers)
    with (project.folder / "results/tiny/tidy/eagle_emnist_linear_a0.5.csv").open() as file:
        trained = [line for line in csv.DictReader(file) if not line["run"].startswith("optima/")]
        assert {line["source"] for line in trained} == {
            "EMNIST, split byclass, training and test part, as published, upright"
        }
    shutil.rmtree(project.folder / "data")  # what is prepared needs no archive any more, and no network
    assert "Nothing to be done" in project.snakemake("--dry-run", config=("mirrors=nowhere", "offline=true")).stdout
