import re

import numpy as np
import pytest

from fairfl.data.formats import csv_table
from fairfl.data.interface import RemoteFile, assemble, content_sha256
from fairfl.data.registry import load
from fairfl.experiments.declaration import declaration
from fairfl.experiments.plugins import names
from fairfl.runtime.errors import DataError, FairflError

IMAGES = np.zeros((4, 1, 2, 2), np.uint8)
LABELS = np.array([0, 1, 2, 1])


def is_local(file: RemoteFile) -> bool:
    """True for a user's own file, which nobody else has and no checksum vouches for."""
    return file == csv_table.local_file(file.name)


def test_names():
    assert set(names("data")) >= {
        "ambiguous_digits",
        "cifar10",
        "cifar100",
        "cinic10",
        "digits",
        "dirty_mnist",
        "emnist",
        "fashion_mnist",
        "femnist",
        "local_csv",
        "mnist",
        "python_text",
        "reddit",
        "sentiment",
        "stackoverflow",
        "synthetic_gaussian",
        "synthetic_regression",
        "tiny_imagenet",
        "two_quadratics",
        "yelp_imdb",
    }


@pytest.mark.parametrize("name", names("data"))
def test_every_module_has_the_interface(name):
    module = load(name)
    assert module.PER_SEED is name.startswith("synthetic_")
    for file in module.files(module.Config()):
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in file.sha256)
        assert file.urls or file.instead or is_local(file)
    declared = declaration("data", name)
    assert declared.Config.model_json_schema() == module.Config.model_json_schema()
    assert declared.PER_SEED is module.PER_SEED


def test_unknown_name_gives_the_nearest():
    with pytest.raises(FairflError, match="'mnits' is not one of the data sets; did you mean 'mnist'"):
        load("mnits")
    with pytest.raises(FairflError):
        load("interface")


def test_assemble_fills_in():
    data = assemble("d", 3, "a sentence", IMAGES, LABELS.astype(np.uint8), mean=0.5, std=2)
    assert {k: v.dtype.name for k, v in data.tensors.items()} == {
        "inputs": "uint8",
        "labels": "int64",
        "groups": "int64",
    }
    assert data.tensors["groups"].tolist() == [0, 1, 2, 3]
    assert data.metadata == {
        "dataset": "d",
        "classes": "3",
        "source": "a sentence",
        "scale_mean": "0.5",
        "scale_std": "2.0",
        "sha256": content_sha256(data.tensors),
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": (0.1, 0.2)}, r"mean has 2 values; expected 1 or 1 \(channels\)"),
        ({"mean": float("nan")}, r"mean is \[nan\]; expected finite numbers"),
        ({"std": 0}, r"std is \[0.0\]; expected finite numbers > 0"),
        ({"labels": np.array([0, 1, 3, 1])}, "labels row 2 is 3; expected 0..2"),
        ({"labels": np.array([0, -1, 2, 1])}, "labels row 1 is -1"),
        ({"labels": LABELS[:3]}, r"labels have shape \[3\]; expected \[4\]"),
        ({"labels": LABELS * 1.0}, "labels are float64"),
        ({"inputs": IMAGES[:, 0]}, r"inputs are uint8 \[4, 2, 2\]"),
        ({"inputs": IMAGES.astype(np.int64)}, "inputs are int64"),
        ({"inputs": IMAGES[:0]}, "inputs are empty"),
        ({"inputs": np.array([[0], [np.nan], [0], [0]], np.float32)}, "inputs row 1 .* not finite"),
        ({"ambiguous": np.array([0, 2, 0, 0])}, "ambiguous row 1 is 2"),
        ({"client": np.array([0, 0, 0, -1])}, "client row 3 is -1"),
        ({"domain": np.array([0, 1, 0, -1])}, "domain row 3 is -1"),
        ({"official_test": np.array([0, 1, 2, 0])}, "official_test row 2 is 2; expected 0..1"),
        ({"clusters": [0]}, "clusters has 1 entries; the rows have 0 clients"),
        ({"client": LABELS, "clusters": [0, 1]}, "clusters has 2 entries; the rows have 3 clients"),
        ({"client": LABELS, "clusters": [0, -1, 1]}, "clusters row 1 is -1"),
        ({"groups": np.array([0, 0, -5, 1])}, "groups row 2 is -5"),
    ],
)
def test_assemble_refuses(change, message):
    arguments = {"inputs": IMAGES, "labels": LABELS, **change}
    with pytest.raises(DataError, match=f"d: {message}"):
        assemble("d", 3, "s", **arguments)
