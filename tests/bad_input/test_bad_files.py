"""What jobs read of other jobs: damaged, incomplete or foreign files are one line that names the file."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.numpy import save

from fairfl.models import weights
from fairfl.runtime import result_files, tables
from fairfl.simulation.clients import load_clients
from tests.bad_input.refusals import refused

CPU = torch.device("cpu")
SAID = {"classes": "3", "scale_mean": "0.0", "scale_std": "1.0", "source": "made"}
ROWS = np.arange(12)


def tensors(**changes):
    images = np.random.default_rng(0).integers(0, 256, (12, 1, 2, 2), dtype=np.uint8)
    return {"inputs": images, "labels": ROWS % 3, "groups": ROWS} | changes


def columns(**changes):
    return {"row": ROWS, "client": ROWS % 2, "part": ROWS // 2 % 3} | changes


def files(folder, data=None, said=None, partition=None, metadata=None):
    """Paths of a data set of 12 images and its partition to two clients, changed."""
    path, deal = folder / "data.safetensors", folder / "deal.parquet"
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        content = tensors(**(data or {}))
        content = {name: array for name, array in content.items() if array is not None}
        kept = {key: value for key, value in (SAID | (said or {})).items() if value is not None}
        path.write_bytes(save(content, kept))
    if isinstance(partition, bytes):
        deal.write_bytes(partition)
    else:
        content = {name: values for name, values in columns(**(partition or {})).items() if values is not None}
        pq.write_table(pa.table(content).replace_schema_metadata(metadata or {}), deal)
    return path, deal


def test_the_files_of_these_tests_are_fine(tmp_path):
    clients = load_clients(*files(tmp_path, metadata={"clusters": "[0, 1]"}), CPU)
    assert (clients.count, clients.classes, clients.clusters) == (2, 3, [0, 1])


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


FLOATS = np.ones((12, 2), np.float32)
TOKENS = np.ones((12, 4), np.int64)
DATA = [
    (b"", "damaged ("),
    (save(tensors(), SAID)[:-5], "damaged ("),
    ({"labels": None}, "has no tensor 'labels'"),
    ({"inputs": FLOATS.astype(np.float64)}, "inputs are float64 [12, 2]; expected uint8"),
    ({"inputs": tensors()["inputs"][:11]}, "inputs [11, 1, 2, 2] and labels [12]"),
    ({"inputs": changed(FLOATS, (3, 1), np.nan)}, "holds a value that is not finite"),
    ({"inputs": changed(TOKENS, (3, 1), -1)}, "holds the token -1; expected 0 or more"),
    ({"labels": ROWS}, "labels row"),
    ({"labels": ROWS / 4}, "labels are float64; expected whole numbers"),
    ({"inputs": TOKENS, "labels": np.full((12, 4), 7)}, "is not within -1..2"),
    ({"inputs": TOKENS, "labels": np.full((12, 4), -1)}, "asks for no prediction"),
]


@pytest.mark.parametrize(("data", "words"), DATA, ids=[f"{n}-{words[:40]}" for n, (_, words) in enumerate(DATA)])
def test_prepared_data(tmp_path, data, words):
    paths = files(tmp_path, data)
    refused(lambda: load_clients(*paths, CPU), "data.safetensors", words)


PARTITION = [
    (b"", "damaged ("),
    ({"row": None}, "no column 'row'"),
    ({"row": changed(ROWS, 3, 12)}, "row is 12 in line 3; expected 0..11"),
    ({"row": changed(ROWS, 3, 4)}, "row 4 is assigned twice"),
    ({"row": [str(row) for row in ROWS]}, "column 'row' is string"),
    ({"row": [None, *range(1, 12)]}, "column 'row' is int64 with 1 empty cells"),
    ({"client": ROWS % 2 * 2}, "client 1 has no rows"),
    ({"part": changed(ROWS % 3, 5, 3)}, "part is 3 in line 5; expected 0..2"),
    ({"turn": changed(ROWS % 4, 0, 9)}, "turn is 9 in line 0; expected 0..3"),
    ({"label": changed(ROWS % 3, 0, 3)}, "labels row"),
]


@pytest.mark.parametrize(("deal", "words"), PARTITION, ids=[f"{n}-{c[1][:40]}" for n, c in enumerate(PARTITION)])
def test_partitions(tmp_path, deal, words):
    paths = files(tmp_path, partition=deal)
    named = "data.safetensors" if words == "labels row" else "deal.parquet"
    refused(lambda: load_clients(*paths, CPU), named, words)


CLUSTERS = ["[0]", "[0, -1]", "null", "[0, 1.0]", "x"]


@pytest.mark.parametrize("text", CLUSTERS, ids=lambda text: text[:10])
def test_clusters(tmp_path, text):
    paths = files(tmp_path, metadata={"clusters": text})
    refused(lambda: load_clients(*paths, CPU), "clusters are not one whole number for each of 2 clients")


# -- records ---------------------------------------------------------------------------------------------
def optimum(loss):
    """A local optimum whose last loss is this JSON."""
    return b'{"loss_train": 1, "loss_validation": null, "loss_test": ' + loss + b"}"


RECORDS = [
    (b"", "damaged: not valid JSON"),
    (b"[]", "damaged: []: expected a mapping"),
    (b'{"loss_train": 1, "loss_validation": null}', "damaged: loss_test: missing"),
    (optimum(b"NaN"), "NaN is no number of JSON"),
    (optimum(b'"0.5"'), "loss_test: '0.5': expected a number"),
    (optimum(b'1, "loss_test": 2'), "'loss_test' is given twice"),
]


@pytest.mark.parametrize(("content", "words"), RECORDS, ids=[words[:50] for _, words in RECORDS])
def test_result_files(tmp_path, content, words):
    path = tmp_path / "client0.json"
    path.write_bytes(content)
    words = ("client0.json: damaged: ", words, "delete it and run again")
    refused(lambda: result_files.read(path, result_files.LocalOptimum), *words)


# -- tables ------------------------------------------------------------------------------------------------
KINDS = {"setting": str, "seed": int, "value": float}
TABLES = [
    (b"", "no column 'setting'"),
    (b"setting,seed\na,1\n", "no column 'value'"),
    (b"setting,seed,value\na,1,2,3\n", "line 2: expected 3 cells"),
    (b"setting,seed,value\na,x,1\n", "line 2: seed: 'x' is not a whole number"),
    (b"setting,seed,value\na,1,one\n", "line 2: value: 'one' is not a number"),
    (b"setting,seed,value\na,1,1\n\xff,1,1\n", "not a CSV file in UTF-8"),
    (b'setting,seed,value\n"a,1,1\n', "not a CSV file in UTF-8"),
]


@pytest.mark.parametrize(("content", "words"), TABLES, ids=[f"{n}-{words[:40]}" for n, (_, words) in enumerate(TABLES)])
def test_csv(tmp_path, content, words):
    path = tmp_path / "tidy.csv"
    path.write_bytes(content)
    refused(lambda: list(tables.rows(path, KINDS)), "tidy.csv", words)


# -- weights ----------------------------------------------------------------------------------------------
WEIGHTS = [b"", b"PK\x03\x04garbage", b"cos\nsystem\n(S'true'\ntR."]


@pytest.mark.parametrize("content", WEIGHTS, ids=lambda content: repr(content[:10]))
def test_weights(tmp_path, content):
    path = tmp_path / "weights.pth"
    path.write_bytes(content)
    model = torch.nn.Linear(1, 1)
    refused(lambda: weights.start(model, "M", str(path), "resnet18", "fc"), "weights.pth: no file of weights")
