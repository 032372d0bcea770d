"""What jobs read of other jobs: damaged, incomplete or foreign files are one line that names the file."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.numpy import save

from fairfl.models import weights
from fairfl.simulation.clients import load_clients
from fairfl.values import result_files, tables
from tests.bad_input.refusals import MISTAKES, refused

SAID = {"classes": "3", "scale_mean": "0.0", "scale_std": "1.0", "source": "made"}
ROWS = np.arange(12)
IMAGES = np.random.default_rng(0).integers(0, 256, (12, 1, 2, 2), dtype=np.uint8)
DATA = {"inputs": IMAGES, "labels": ROWS % 3, "groups": ROWS}
WHOLE = save(DATA, SAID)
DEAL = {"row": ROWS, "client": ROWS % 2, "part": ROWS // 2 % 3}
FLOATS, TOKENS = np.ones((12, 2), np.float32), np.ones((12, 4), np.int64)


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def clients(folder, data=WHOLE, deal=DEAL, **metadata):
    """The clients of 12 images and their partition to two clients."""
    (folder / "data.safetensors").write_bytes(data)
    if isinstance(deal, bytes):
        (folder / "deal.parquet").write_bytes(deal)
    else:
        pq.write_table(pa.table(deal).replace_schema_metadata(metadata), folder / "deal.parquet")
    return load_clients(folder / "data.safetensors", folder / "deal.parquet", torch.device("cpu"))


def test_the_files_of_these_tests_are_fine(tmp_path):
    found = clients(tmp_path, clusters="[0, 1]")
    assert (found.count, found.classes, found.clusters) == (2, 3, [0, 1])


# Readers of a file below a folder, and what stands in it.
def data(folder, **tensors):
    clients(folder, save({name: array for name, array in (DATA | tensors).items() if array is not None}, SAID))


def deal(folder, **columns):
    clients(folder, deal={name: values for name, values in (DEAL | columns).items() if values is not None})


def content(folder, name, text):
    path = folder / name
    path.write_bytes(text.encode("latin-1"))
    if name == "client0.json":
        result_files.read(path, result_files.LocalOptimumResult)
    elif name == "tidy.csv":
        list(tables.rows(path, {"setting": str, "seed": int, "value": float}))
    else:
        weights.start(torch.nn.Linear(1, 1), "M", str(path), "resnet18", "fc")


FILES = [
    (clients, {"data": b""}, "data.safetensors: damaged ("),
    (clients, {"data": save(DATA, SAID)[:-5]}, "data.safetensors: damaged ("),
    (data, {"labels": None}, "data.safetensors: has no tensor 'labels'"),
    (data, {"inputs": FLOATS.astype(np.float64)}, "inputs are float64 [12, 2]; expected uint8"),
    (data, {"inputs": IMAGES[:11]}, "inputs [11, 1, 2, 2] and labels [12]"),
    (data, {"inputs": changed(FLOATS, (3, 1), np.nan)}, "holds a value that is not finite"),
    (data, {"inputs": changed(TOKENS, (3, 1), -1)}, "holds the token -1; expected 0 or more"),
    (data, {"labels": ROWS}, "labels row"),
    (data, {"labels": ROWS / 4}, "labels are float64; expected whole numbers"),
    (data, {"inputs": TOKENS, "labels": np.full((12, 4), 7)}, "is not within -1..2"),
    (data, {"inputs": TOKENS, "labels": np.full((12, 4), -1)}, "asks for no prediction"),
    (clients, {"deal": b""}, "deal.parquet: damaged ("),
    (deal, {"row": None}, "deal.parquet: damaged (no column 'row'"),
    (deal, {"row": changed(ROWS, 3, 12)}, "row is 12 in line 3; expected 0..11"),
    (deal, {"row": changed(ROWS, 3, 4)}, "row 4 is assigned twice"),
    (deal, {"row": [str(row) for row in ROWS]}, "column 'row' is string"),
    (deal, {"row": [None, *range(1, 12)]}, "column 'row' is int64 with 1 empty cells"),
    (deal, {"client": ROWS % 2 * 2}, "client 1 has no rows"),
    (deal, {"part": changed(ROWS % 3, 5, 3)}, "part is 3 in line 5; expected 0..2"),
    (deal, {"turn": changed(ROWS % 4, 0, 9)}, "turn is 9 in line 0; expected 0..3"),
    (deal, {"label": changed(ROWS % 3, 0, 3)}, "data.safetensors, train part: labels row"),
    *((clients, {"clusters": text}, "clusters") for text in ("[0]", "[0, -1]", "null", "[0, 1.0]", "x")),
    *((content, {"name": name, "text": text}, words) for name, text, words in MISTAKES["files"]),
]


@pytest.mark.parametrize(("read", "given", "words"), FILES, ids=[f"{n}-{c[2][:40]}" for n, c in enumerate(FILES)])
def test_damaged_files(tmp_path, read, given, words):
    refused(lambda: read(tmp_path, **given), words)
