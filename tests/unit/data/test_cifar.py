"""CIFAR-10 and CIFAR-100 on small generated archives of the same form, and on a mirror where there is one."""

import io
import pickle

import numpy as np
import pytest

from fairfl.data import cifar10, cifar100
from fairfl.data.formats import cifar_batches
from fairfl.runtime.errors import SourceError

# As Python 2 and the numpy of its time wrote it.
PYTHON_2 = (
    b"\x80\x02}(U\x04datacnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR(K\x01(K\x02K\x02t"
    b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x04\x00\x01\x02\x03tb"
    b"U\x06labels](K\x05K\x07eu."
)


def test_pickles_of_python_2():
    batch = cifar_batches._Unpickler(io.BytesIO(PYTHON_2), encoding="bytes").load()
    assert batch[b"labels"] == [5, 7] and batch[b"data"].tolist() == [[0, 1], [2, 3]]


def test_a_pickle_cannot_call_anything():
    with pytest.raises(KeyError, match="eval"):
        cifar_batches._Unpickler(io.BytesIO(pickle.dumps(eval))).load()


ROWS = 4


def batch(seed, labels, key=b"labels"):
    data = np.random.default_rng(seed).integers(0, 256, (ROWS, 3072), dtype=np.uint8)
    return {b"batch_label": b"made", key: labels, b"data": data, b"filenames": [b"a.png"] * ROWS}


@pytest.fixture
def batches(small, tmp_path, any_checksum, monkeypatch):
    """Batches of four rows in an archive whose order is not theirs; returns {name: batch}."""
    monkeypatch.setattr(cifar10, "_TRAIN_ROWS", 20)
    made = {f"data_batch_{n}": batch(n, [n, 0, 9, n]) for n in (4, 1, 5, 2, 3)}
    made = {"test_batch": batch(0, [0, 1, 2, 3]), **made}
    put(small, tmp_path, made)
    return made


def put(small, folder, made):
    members = [(f"cifar-10-batches-py/{name}", pickle.dumps(value, 4)) for name, value in made.items()]
    small.tar(folder / "cifar10" / "cifar-10-python.tar.gz", [*members, ("cifar-10-batches-py/readme.html", b"hi")])


def test_published_form(batches, tmp_path):
    data = cifar10.prepare(tmp_path, cifar10.Config(), 0)
    order = [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]
    expected = np.concatenate([batches[name][b"data"] for name in order]).reshape(-1, 3, 32, 32)
    np.testing.assert_array_equal(data.tensors["inputs"], expected)
    assert data.tensors["labels"].tolist() == [1, 0, 9, 1, 2, 0, 9, 2, 3, 0, 9, 3, 4, 0, 9, 4, 5, 0, 9, 5, 0, 1, 2, 3]
    assert data.metadata["source"] == "CIFAR-10, part all, as published"
    assert (data.metadata["scale_mean"], data.metadata["scale_std"]) == ("0.0", "1.0")
    assert data.tensors["official_test"].tolist() == [0] * 20 + [1] * 4
    test = cifar10.prepare(tmp_path, cifar10.Config(part="test"), 0).tensors
    np.testing.assert_array_equal(test["inputs"], expected[20:])
    assert len(cifar10.prepare(tmp_path, cifar10.Config(part="train"), 0).tensors["labels"]) == 20


def test_cifar100_has_fine_labels(small, tmp_path, any_checksum):
    made = [batch(n, [n, 99, 50, 7], b"fine_labels") for n in (0, 1)]
    members = [(f"cifar-100-python/{part}", pickle.dumps(made[n], 4)) for n, part in ((1, "test"), (0, "train"))]
    small.tar(tmp_path / "cifar100" / "cifar-100-python.tar.gz", members)
    data = cifar100.prepare(tmp_path, cifar100.Config(), 0)
    assert data.tensors["labels"].tolist() == [0, 99, 50, 7, 1, 99, 50, 7]
    np.testing.assert_array_equal(data.tensors["inputs"][:4].reshape(4, -1), made[0][b"data"])
    assert data.metadata["classes"] == "100"
    assert cifar100.prepare(tmp_path, cifar100.Config(part="test"), 0).tensors["labels"].tolist() == [1, 99, 50, 7]
    coarse = cifar100.prepare(tmp_path, cifar100.Config(part="test", labels="coarse"), 0)
    assert (coarse.tensors["labels"].tolist(), coarse.metadata["classes"]) == ([1, 13, 16, 7], "20")


# -- JPEG form

CLASS_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@pytest.fixture
def jpegs(small, tmp_path, any_checksum, monkeypatch):
    """Two training images and one test image per class, each of one colour of its own; {name: file}."""
    monkeypatch.setattr(cifar10, "_TRAIN_ROWS", 20)
    made = {}
    for part, count in (("test", 1), ("train", 2)):
        for label, name in enumerate(CLASS_NAMES):
            for number in range(count):
                made[f"{part}/{name}/{number:04}.jpg"] = jpeg(small, colour(part, label, number))
    put_jpegs(small, tmp_path / "cifar10" / "cifar10_jpeg.tar.xz", made)
    return made


def colour(part, label, number):
    return 20 * label + 10, 100 * number + 50, 200 if part == "test" else 30


def jpeg(small, rgb):
    return small.picture(np.full((32, 32, 3), rgb), "JPEG", quality=95)


def put_jpegs(small, path, made):
    # In an order that is not that of the rows, with a file that is no image.
    members = sorted(made.items(), key=lambda item: item[0][::-1])
    small.tar(path, [*members, ("files.tsv", b"train/apple/0000.jpg\ta.png")], "w:xz")


def test_jpeg_form(jpegs, tmp_path):
    data = cifar10.prepare(tmp_path, cifar10.Config(), 0)
    labels = np.concatenate([np.repeat(np.arange(10), 2), np.arange(10)])
    assert data.tensors["labels"].tolist() == labels.tolist()
    assert data.tensors["official_test"].tolist() == [0] * 20 + [1] * 10
    assert data.metadata["source"] == "CIFAR-10, part all, JPEG-compressed copy, lossy"
    numbers, parts = [0, 1] * 10 + [0] * 10, ["train"] * 20 + ["test"] * 10
    expected = [colour(*which) for which in zip(parts, labels, numbers, strict=True)]
    inputs = data.tensors["inputs"]
    assert inputs.shape == (30, 3, 32, 32) and inputs.dtype == np.uint8
    # Compression moves a colour by a step or two.
    assert np.abs(inputs.astype(int) - np.array(expected)[:, :, None, None]).max() <= 3
    test = cifar10.prepare(tmp_path, cifar10.Config(part="test"), 0).tensors
    np.testing.assert_array_equal(test["inputs"], inputs[20:])


def test_forms(small, jpegs, batches, tmp_path):
    def source(**options):
        data = cifar10.prepare(tmp_path, cifar10.Config(**{"part": "test", **options}), 0)
        return data.metadata["source"].split(", ", 2)[2]

    published, lossy = "as published", "JPEG-compressed copy, lossy"
    assert (source(), source(form="pickle"), source(form="jpeg")) == (published, published, lossy)
    (tmp_path / "cifar10" / "cifar-10-python.tar.gz").unlink()
    assert (source(), source(form="jpeg")) == (lossy, lossy)
    with pytest.raises(SourceError, match="cifar-10-python.tar.gz is missing"):
        source(form="pickle")


def test_cifar100_of_jpeg_files(small, tmp_path, any_checksum):
    """Classes by the alphabet, in which an underscore comes before letters: pine_tree before pinecone."""
    made = {
        f"{part}/{name}/{number:04}.jpg": jpeg(small, colour(part, label, number))
        for part, count in (("train", 2), ("test", 1))
        for label, name in enumerate(("apple", "pine_tree", "pinecone"))
        for number in range(count)
    }
    put_jpegs(small, tmp_path / "cifar100" / "cifar100_jpeg.tar.xz", made)
    data = cifar100.prepare(tmp_path, cifar100.Config(), 0)
    assert data.tensors["labels"].tolist() == [0, 0, 1, 1, 2, 2, 0, 1, 2]
    assert (data.tensors["inputs"][:, 0].mean(axis=(1, 2)) // 20).tolist() == data.tensors["labels"].tolist()
    assert data.metadata["source"] == "CIFAR-100, part all, fine labels, JPEG-compressed copy, lossy"
    test = cifar100.prepare(tmp_path, cifar100.Config(part="test", form="jpeg"), 0).tensors
    np.testing.assert_array_equal(test["inputs"], data.tensors["inputs"][6:])
    with pytest.raises(SourceError, match="cifar-100-python.tar.gz is missing"):
        cifar100.prepare(tmp_path, cifar100.Config(form="pickle"), 0)
    # As the published archive has it for the fine labels 0 (apple), 1 (aquarium_fish) and 2 (baby).
    coarse = cifar100.prepare(tmp_path, cifar100.Config(part="test", labels="coarse"), 0)
    assert coarse.tensors["labels"].tolist() == [4, 1, 14]
