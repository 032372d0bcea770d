"""FEMNIST in small copies of its two forms: LEAF's files, and the database of TensorFlow Federated."""

import json

import numpy as np
import pytest

from fairfl.data import femnist
from tests.unit.data import tff_files

ARCHIVE, DATABASE = "femnist_leaf.tar.gz", "emnist_all.sqlite.lzma"
# Writer: labels. As text, "f0001_08" comes before "f0012_41".
WRITERS = {"f0012_41": [3, 10, 61], "f0001_08": [36, 0], "f0500_12": [9]}


def ink(writer, number):
    """uint8 [784], what a writer has drawn."""
    return np.random.default_rng([int(writer[1:5]), number]).integers(0, 256, 784, dtype=np.uint8)


def paper(writer, number):
    """As LEAF has it: 1 is blank."""
    return (255 - ink(writer, number)) / 255


def leaf_file(writers=WRITERS, **changes):
    """The bytes of one of LEAF's files."""
    data = {
        writer: {"x": [paper(writer, number).tolist() for number in range(len(labels))], "y": labels}
        for writer, labels in writers.items()
    }
    content = {"users": list(writers), "num_samples": [len(labels) for labels in writers.values()], "user_data": data}
    return json.dumps({**content, **changes}).encode()


@pytest.fixture
def leaf(tmp_path, small):
    """Write LEAF's files, (name, content), as an archive; returns the data folder."""

    def write(*files):
        small.tar(tmp_path / "femnist" / ARCHIVE, files)
        return tmp_path

    return write


def two_files():
    """The writers in two files, not in the order of their ids."""
    writers = list(WRITERS.items())
    return ("./all_data_0.json", leaf_file(dict(writers[:1]))), ("./all_data_1.json", leaf_file(dict(writers[1:])))


def pack(folder):
    """The database; the last character of each writer is in the test part. Digits are stored once more, as upstream."""
    users = {}
    for writer, labels in WRITERS.items():
        drawn = [paper(writer, number).astype(np.float32) for number in range(len(labels))]
        own = [tff_files.example(label=label, pixels=pixels) for label, pixels in zip(labels, drawn, strict=True)]
        users |= {(writer, "all_train"): own[:-1], (writer, "all_test"): own[-1:], (writer, "digits_only_train"): own}
    tff_files.pack(folder / "femnist" / DATABASE, users)
    return folder


def is_right(data, background="black"):
    """All writers by id, their characters in stored order."""
    order = sorted(WRITERS)
    drawn = np.stack([ink(writer, number) for writer in order for number in range(len(WRITERS[writer]))])
    expected = drawn if background == "black" else 255 - drawn
    assert data.tensors["inputs"].dtype == np.uint8 and data.tensors["inputs"].shape == (6, 1, 28, 28)
    np.testing.assert_array_equal(data.tensors["inputs"].reshape(6, 784), expected)
    assert data.tensors["labels"].tolist() == [36, 0, 3, 10, 61, 9]
    assert data.tensors["client"].tolist() == [0, 0, 1, 1, 1, 2]
    assert data.tensors["groups"].tolist() == list(range(6))
    assert data.metadata["classes"] == "62"
    assert (data.metadata["scale_mean"], data.metadata["scale_std"]) == ("0.0", "1.0")


# -- LEAF


@pytest.mark.parametrize("background", ["black", "white"])
def test_leaf_by_writer(leaf, background):
    data = femnist.prepare(leaf(*two_files()), femnist.Config(paper=background), 0)
    is_right(data, background)
    assert data.metadata["source"] == f"FEMNIST, made by LEAF's scripts: 3 of LEAF's 3597 writers, {background} paper"


def test_equal_images_of_a_writer_are_one_group(leaf):
    file = leaf_file(users=["a"], user_data={"a": {"x": [[1.0] * 784, [0.0] * 784, [1.0] * 784], "y": [5, 6, 5]}})
    data = femnist.prepare(leaf(("all_data_0.json", file)), femnist.Config(), 0)
    assert data.tensors["groups"].tolist() == [0, 1, 0]


# -- TensorFlow Federated


def test_the_database_gives_the_same(tmp_path, any_checksum):
    data = femnist.prepare(pack(tmp_path), femnist.Config(), 0)
    is_right(data)
    assert data.metadata["source"] == "FEMNIST, TensorFlow Federated's copy: 3 writers, black paper"
    assert [path.name for path in (tmp_path / "femnist").iterdir()] == [DATABASE]  # nothing unpacked stays
