"""Loading of prepared data and partitions: order, scaling, single clients, empty parts."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from fairfl.data.interface import assemble
from fairfl.jobs.prepare import write
from fairfl.partition.partition_file import PARTS
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.clients import Clients, Part, load_clients
from tests.unit.simulation.federations import CPU, spec_of

# (row of the data, client, part): shuffled, row 5 unused, client 1 without validation samples.
DEALT = [(7, 1, 0), (0, 0, 0), (9, 2, 2), (3, 0, 1), (8, 2, 0), (1, 1, 0), (6, 0, 2), (2, 0, 0), (4, 2, 1)]


def partition(path, dealt):
    row, client, part = zip(*dealt, strict=True)
    columns = {"row": pa.array(row, pa.int64()), "client": pa.array(client, pa.int32())}
    pq.write_table(pa.table({**columns, "part": pa.array(part, pa.int8())}), path)
    return path


def prepared(folder, classes, inputs, labels, dealt=DEALT, **more):
    """The files of a data set and its partition."""
    write(folder / "data.safetensors", assemble("toy", classes, "made", inputs, labels, **more))
    return folder / "data.safetensors", partition(folder / "dealt.parquet", dealt)


@pytest.fixture
def features(tmp_path):
    """Ten samples whose inputs and labels tell the row: (row, -row), row % 5."""
    rows = np.arange(10)
    return prepared(tmp_path, 5, np.stack([rows, -rows], axis=1).astype(np.float32), rows % 5)


def rows_of(part, client):
    inputs, labels = part.of(client)
    rows = inputs[:, 0].long()
    assert torch.equal(inputs[:, 1].long(), -rows) and torch.equal(labels, rows % 5)
    return rows.tolist()


def test_clients_lie_one_after_the_other_with_their_rows_in_the_order_of_the_partition(features):
    clients = load_clients(*features, CPU)
    assert (clients.count, clients.classes, clients.shape) == (3, 5, (2,))
    owned = {name: [rows_of(clients.parts[name], k) for k in range(3)] for name in PARTS}
    assert owned == {"train": [[0, 2], [7, 1], [8]], "validation": [[3], [], [4]], "test": [[6], [], [9]]}
    assert clients.parts["train"].inputs[:, 0].tolist() == [0, 2, 7, 1, 8]
    assert clients.parts["train"].offsets == [0, 2, 4, 5]


@pytest.mark.parametrize("client", [0, 1])
def test_a_single_client_is_the_same_as_in_the_whole(features, client):
    whole, alone = load_clients(*features, CPU), load_clients(*features, CPU, only=client)
    assert (alone.count, alone.classes, alone.shape) == (1, whole.classes, whole.shape)
    for name in PARTS:
        assert rows_of(alone.parts[name], 0) == rows_of(whole.parts[name], client)


def test_images_are_scaled_by_the_constants_of_the_file(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (10, 1, 2, 3), dtype=np.uint8)
    files = prepared(tmp_path, 5, images, np.arange(10) % 5, [(4, 0, 0), (2, 0, 0)], mean=0.25, std=0.5)
    clients = load_clients(*files, CPU)
    inputs = clients.parts["train"].inputs
    assert inputs.dtype == torch.float32 and clients.shape == (1, 2, 3)
    np.testing.assert_allclose(inputs.numpy(), (images[[4, 2]] / 255 - 0.25) / 0.5, rtol=1e-6, atol=1e-6)
    assert [value.item() for value in clients.scale] == [0.25, 0.5], "for what wants pixels in [0, 1] again"


@pytest.mark.parametrize("clusters", [[0, 0, 1], None])
def test_images_are_turned_counter_clockwise_and_true_clusters_come_with_the_partition(tmp_path, clusters):
    images = np.arange(4 * 9).reshape(4, 1, 3, 3).astype(np.uint8)
    turns, dealt = [1, 0, 3, 2], [(2, 0, 0), (0, 1, 0), (3, 1, 0), (1, 2, 0)]
    files = prepared(tmp_path, 2, images, np.array([0, 1, 0, 1]), dealt)
    table = pq.read_table(files[1]).append_column("turn", pa.array(turns, pa.int8()))
    pq.write_table(table.replace_schema_metadata({"clusters": str(clusters)} if clusters else {}), files[1])
    clients = load_clients(*files, CPU)
    for place, (row, quarters) in enumerate(zip([2, 0, 3, 1], turns, strict=True)):
        expected = np.rot90(images[row, 0], quarters) / 255
        np.testing.assert_allclose(clients.parts["train"].inputs[place, 0], expected, rtol=1e-6)
    assert clients.clusters == clusters
    assert load_clients(*files, CPU, only=2).clusters == (clusters and [1])


def test_tokens_reach_the_model_as_they_are(tmp_path):
    tokens, words = np.arange(40).reshape(10, 4), np.arange(40).reshape(10, 4)[::-1] - 1
    clients = load_clients(*prepared(tmp_path, 40, tokens, words), CPU, torch.float64)
    assert (clients.classes, clients.shape, clients.dtype) == (40, (4,), torch.float32)
    inputs, labels = clients.parts["train"].of(1)
    assert not inputs.is_floating_point() and labels.dtype == torch.int64
    assert inputs.tolist() == tokens[[7, 1]].tolist() and labels.tolist() == words[[7, 1]].tolist()


@pytest.mark.parametrize(
    ("model", "loss", "message"),
    [
        ({"name": "lstm"}, "cross_entropy", "is for one class per sample, the data have one label at each"),
        ({"name": "mlp", "hidden": [3]}, "next_word", "the model reads images or features .* the data are tokens"),
        ({"name": "cnn"}, "next_word", "cnn needs images"),
    ],
)
def test_text_with_a_model_or_loss_of_images_is_refused(model, loss, message):
    part = Part(torch.ones(3, 4).long(), torch.ones(3, 4).long(), torch.tensor([3]))
    clients = Clients(dict.fromkeys(PARTS, part), 7, (4,))
    with pytest.raises(ValueError, match=message):
        make_backend(spec_of(model=model, loss=loss), clients, "auto", CPU)
