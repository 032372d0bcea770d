import re

import numpy as np
import pytest

from fairfl.data import registry
from fairfl.data.formats import csv_table
from fairfl.data.interface import assemble, content_sha256
from fairfl.experiments.declaration import declaration
from fairfl.experiments.plugins import names
from fairfl.runtime.errors import DataError

IMAGES = np.zeros((4, 1, 2, 2), np.uint8)
LABELS = np.array([0, 1, 2, 1])


@pytest.mark.parametrize("name", names("data"))
def test_every_module_has_the_interface(name):
    for file in registry.files(name, {}):
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in file.sha256)
        assert file.urls or file.instead or file == csv_table.local_file(file.name)  # which no checksum vouches for
    declared = declaration("data", name)
    assert declared.Config.model_json_schema() == registry.load(name).Config.model_json_schema()
    assert declared.PER_SEED is name.startswith("synthetic_")


def test_assemble_fills_in():
    data = assemble("d", 3, "a sentence", IMAGES, LABELS.astype(np.uint8), mean=0.5, std=2)
    types = {name: tensor.dtype.name for name, tensor in data.tensors.items()}
    assert types == {"inputs": "uint8", "labels": "int64", "groups": "int64"}
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
        ({"labels": np.array([0, 1, 3, 1])}, "labels row 2 is 3; expected 0..2"),
        ({"inputs": IMAGES[:, 0]}, r"inputs are uint8 \[4, 2, 2\]"),
        ({"inputs": IMAGES[:0]}, "inputs are empty"),
        ({"inputs": np.array([[0], [np.nan], [0], [0]], np.float32)}, "inputs row 1 .* not finite"),
        ({"client": np.array([0, 0, 0, -1])}, "client row 3 is -1"),
        ({"official_test": np.array([0, 1, 2, 0])}, "official_test row 2 is 2; expected 0..1"),
        ({"client": LABELS, "clusters": [0, 1]}, "clusters has 2 entries; the rows have 3 clients"),
    ],
)
def test_assemble_refuses(change, message):
    arguments = {"inputs": IMAGES, "labels": LABELS, **change}
    with pytest.raises(DataError, match=f"d: {message}"):
        assemble("d", 3, "s", **arguments)
