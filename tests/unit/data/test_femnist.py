"""FEMNIST in small copies of its two forms: LEAF's files, and the database of TensorFlow Federated."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from fairfl.data import femnist
from fairfl.experiments.parts import Data
from fairfl.jobs import fetch
from fairfl.runtime import hashes
from fairfl.runtime.errors import FairflError
from tests.unit.data import toys

ARCHIVE, DATABASE = "femnist/femnist_leaf.tar.gz", "femnist/emnist_all.sqlite.lzma"
# Writer: labels. As text, "f0001_08" comes before "f0012_41".
WRITERS = {"f0012_41": [3, 10, 61], "f0001_08": [36, 0], "f0500_12": [9]}


def ink(writer):
    """uint8 [n, 784], what a writer has drawn."""
    return np.random.default_rng(int(writer[1:5])).integers(0, 256, (len(WRITERS[writer]), 784), dtype=np.uint8)


def paper(writer):
    """The drawings in LEAF's form: 1 is blank."""
    return (255 - ink(writer)) / 255


def leaf(folder, *files, **options):
    """The data of LEAF's archive of files, each {writer: (images, labels)}."""
    members = []
    for number, writers in enumerate(files):
        data = {writer: {"x": x, "y": y} for writer, (x, y) in writers.items()}
        sizes = [len(y) for _, y in writers.values()]
        content = {"users": list(writers), "num_samples": sizes, "user_data": data}
        members.append((f"./all_data_{number}.json", json.dumps(content).encode()))
    toys.put(folder / ARCHIVE, toys.tar(members))
    return femnist.prepare(folder, femnist.Config(**options), 0)


def check(data, background="black"):
    """All writers by id, their characters in stored order."""
    drawn = np.concatenate([ink(writer) for writer in sorted(WRITERS)])
    inputs = data.tensors["inputs"]
    assert inputs.dtype == np.uint8 and inputs.shape == (6, 1, 28, 28)
    np.testing.assert_array_equal(inputs.reshape(6, 784), drawn if background == "black" else 255 - drawn)
    assert data.tensors["labels"].tolist() == [36, 0, 3, 10, 61, 9]
    assert data.tensors["client"].tolist() == [0, 0, 1, 1, 1, 2]
    assert data.tensors["groups"].tolist() == list(range(6))
    scale = data.metadata["scale_mean"], data.metadata["scale_std"]
    assert (data.metadata["classes"], *scale) == ("62", "0.0", "1.0")


@pytest.mark.parametrize("background", ["black", "white"])
def test_leaf_by_writer(tmp_path, background):
    first, *rest = ({writer: (paper(writer).tolist(), labels)} for writer, labels in WRITERS.items())
    data = leaf(tmp_path, first, rest[0] | rest[1], paper=background)
    check(data, background)
    assert data.metadata["source"] == f"FEMNIST, made by LEAF's scripts: 3 of LEAF's 3597 writers, {background} paper"


def test_equal_images_of_a_writer_are_one_group(tmp_path):
    images = [[1.0] * 784, [0.0] * 784, [1.0] * 784]
    assert leaf(tmp_path, {"a": (images, [5, 6, 5])}).tensors["groups"].tolist() == [0, 1, 0]


def test_the_database_gives_the_same(tmp_path, any_checksum):
    """The last character of each writer is in the test part; digits are stored once more, as upstream."""
    users = {}
    for writer, labels in WRITERS.items():
        drawn = paper(writer).astype(np.float32)
        own = [toys.example(label=label, pixels=pixels) for label, pixels in zip(labels, drawn, strict=True)]
        users |= {(writer, "all_train"): own[:-1], (writer, "all_test"): own[-1:], (writer, "digits_only_train"): own}
    packed = toys.put(tmp_path / DATABASE, toys.database(users))
    data = femnist.prepare(tmp_path, femnist.Config(), 0)
    check(data)
    assert data.metadata["source"] == "FEMNIST, TensorFlow Federated's copy: 3 writers, black paper"
    assert [*packed.parent.iterdir()] == [packed]  # nothing unpacked stays


@pytest.mark.parametrize("form", ["auto", "leaf"])
def test_an_archive_of_the_user_is_known_by_its_content(tmp_path, form):
    """The published form that would do instead is no part of its name: a new archive, or another one, is fetched."""
    config = SimpleNamespace(data_folder=str(tmp_path), mirrors=[], offline=True)
    data = Data(name="femnist", form=form)
    workload = SimpleNamespace(config=config, prepared_by=lambda key: (data, 0))

    def planned():
        return fetch.spec(workload, "femnist")["files"]

    assert planned() == {ARCHIVE: [None]}
    for content in (b"1", b"2"):
        archive = toys.put(tmp_path / ARCHIVE, toys.tar([("./all_data_0.json", content)]))
        assert planned() == {ARCHIVE: [hashes.sha256(archive)]}
    marker = ["--dataset", "femnist", "--folder", str(tmp_path), "--out", str(tmp_path / "m.json"), "--spec"]
    fetch.main([*marker, json.dumps({"files": planned()})])
    earlier = {"files": planned()}
    toys.put(tmp_path / ARCHIVE, toys.tar([("./all_data_0.json", b"3")]))
    with pytest.raises(FairflError, match="is not the file that this job was planned with"):
        fetch.main([*marker, json.dumps(earlier)])
