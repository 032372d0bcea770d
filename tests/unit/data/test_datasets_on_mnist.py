"""MNIST, EMNIST, DirtyMNIST and Fashion-MNIST on small generated files of the same format."""

import gzip
import pickle

import numpy as np
import pytest
import torch

from fairfl.data import dirty_mnist, emnist, fashion_mnist
from fairfl.runtime.errors import SourceError
from tests.unit.data import toys

pytestmark = pytest.mark.usefixtures("any_checksum")


def members(split, lowest, **images):
    """Files of EMNIST's archive, whose images [n, 28, 28] are stored on their sides; labels count from the lowest."""
    arrays = {f"{part}-images-idx3": own.transpose(0, 2, 1) for part, own in images.items()}
    arrays |= {f"{part}-labels-idx1": lowest + np.arange(len(own)) for part, own in images.items()}
    return [(f"gzip/emnist-{split}-{key}-ubyte.gz", toys.idx(array)) for key, array in arrays.items()]


@pytest.mark.parametrize(("split", "lowest", "classes"), [("balanced", 0, 47), ("letters", 1, 26)])
def test_emnist(tmp_path, split, lowest, classes):
    train, test = toys.images(classes), toys.images(5)
    files = [("../../evil.txt", b"x"), *members(split, lowest, train=train, test=test)]
    archive = toys.put(tmp_path / "emnist" / "gzip.zip", toys.zipped(files))
    data = emnist.prepare(tmp_path, emnist.Config(split=split), 0)
    np.testing.assert_array_equal(data.tensors["inputs"][:, 0], np.concatenate([train, test]))
    assert data.tensors["labels"].tolist() == [*range(classes), *range(5)]
    assert data.metadata["classes"] == str(classes)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [archive]  # nothing unpacked


def test_emnist_test_part_is_read_where_the_archive_is_missing(tmp_path):
    """For split byclass alone."""
    images = toys.images(5)
    archive = toys.zipped(members("byclass", 57, test=images))
    toys.put(tmp_path / "emnist" / "emnist_byclass_test.zip", archive)
    data = emnist.prepare(tmp_path, emnist.Config(), 0)
    np.testing.assert_array_equal(data.tensors["inputs"][:, 0], images)
    assert data.tensors["labels"].tolist() == [57, 58, 59, 60, 61] and data.metadata["classes"] == "62"
    assert data.metadata["source"] == "EMNIST, split byclass, test part only, as published, upright"
    for refused in ({"form": "published"}, {"split": "letters"}):
        with pytest.raises(SourceError, match=r"gzip\.zip: missing"):
            emnist.prepare(tmp_path, emnist.Config(**refused), 0)
    (tmp_path / "emnist" / "gzip.zip").touch()
    with pytest.raises(SourceError, match="empty file"):  # the archive comes first
        emnist.prepare(tmp_path, emnist.Config(), 0)


# -- DirtyMNIST
@pytest.fixture
def dirty(tmp_path, monkeypatch):
    """Prepares 40 + 20 clean rows; 6 ambiguous images with 10 labels, of which 4 are training images."""
    monkeypatch.setattr(dirty_mnist, "_TRAIN_ROWS", 40)
    folder = tmp_path / "dirty_mnist"
    folder.mkdir()
    torch.save(torch.from_numpy(toys.images(6, 9).astype(np.float32) / 255)[:, None], folder / "amnist_samples.pt")
    torch.save(torch.arange(60).reshape(6, 10) % 10, folder / "amnist_labels.pt")
    toys.mnist(tmp_path / "mnist")
    return lambda seed=0, **options: dirty_mnist.prepare(tmp_path, dirty_mnist.Config(**options), seed)


def test_dirty_mnist_structure(dirty):
    data = dirty(noise_std=0.0)
    tensors = data.tensors
    assert tensors["inputs"].shape == (80, 1, 28, 28)
    assert tensors["ambiguous"].tolist() == [0] * 40 + [1] * 40
    assert tensors["groups"].tolist() == [*range(40), *np.repeat(np.arange(40, 44), 10)]
    np.testing.assert_array_equal(tensors["inputs"][:40, 0], toys.images(40, 0))
    np.testing.assert_array_equal(tensors["inputs"][40:, 0], np.repeat(toys.images(6, 9)[:4], 10, axis=0))
    assert tensors["labels"][40:].tolist() == [i % 10 for i in range(40)]
    assert (data.metadata["scale_mean"], data.metadata["scale_std"]) == ("0.1307", "0.3081")


def test_dirty_mnist_noise_is_drawn_for_each_row_and_stays(dirty):
    """Its size is 0.05 in units of the standardised image."""
    first, again = dirty().tensors["inputs"], dirty(5).tensors["inputs"]
    clean = dirty(noise_std=0.0).tensors["inputs"].astype(float)
    np.testing.assert_array_equal(first, again)
    inside = (clean > 30) & (clean < 225)  # where nothing is clipped
    for half in (slice(0, 40), slice(40, 80)):
        noise = (first[half].astype(float) - clean[half])[inside[half]] / 255 / 0.3081
        assert abs(noise.std() - 0.05) < 0.002 and abs(noise.mean()) < 0.001
    assert (first[40] != first[41]).any()


def test_dirty_mnist_reads_pickles_of_tensors_only(dirty, tmp_path):
    torch.save(print, tmp_path / "dirty_mnist" / "amnist_samples.pt")
    with pytest.raises(pickle.UnpicklingError):
        dirty()


# -- Fashion-MNIST
def fashion(folder, **options):
    return fashion_mnist.prepare(folder, fashion_mnist.Config(**options), 0)


def test_parts_and_classes(tmp_path):
    train, test = toys.mnist(tmp_path / "fashion_mnist")
    both, only_test = fashion(tmp_path), fashion(tmp_path, part="test")
    np.testing.assert_array_equal(both.tensors["inputs"][:, 0], np.concatenate([train, test]))
    assert both.tensors["labels"].tolist() == [i % 10 for i in range(40)] + [i % 10 for i in range(20)]
    assert (both.metadata["scale_mean"], both.metadata["scale_std"], both.metadata["classes"]) == ("0.0", "1.0", "10")
    assert both.metadata["source"] == "Fashion-MNIST, part all, as published"
    assert both.tensors["official_test"].tolist() == [0] * 40 + [1] * 20
    np.testing.assert_array_equal(only_test.tensors["inputs"][:, 0], test)
    assert "official_test" not in only_test.tensors
    kept = fashion(tmp_path, classes=[6, 0])
    assert kept.tensors["official_test"].tolist() == [0] * 8 + [1] * 4
    assert kept.tensors["labels"].tolist() == [1, 0] * 6 and "classes [6, 0] only" in kept.metadata["source"]


def test_pixel_standardisation_by_hand(tmp_path):
    """Of 0, 0, 2, 2 the mean is 1 and the standard deviation 1; a pixel that is always 7 has 0."""
    train, test = np.zeros((4, 28, 28)), np.zeros((2, 28, 28))
    train[2:, 0, 0], train[:, 27, 27] = 2, 7
    test[:, 0, 0], test[:, 27, 27] = 3, 9
    toys.mnist_part(tmp_path / "fashion_mnist", "train", train, [0, 1, 2, 9])
    toys.mnist_part(tmp_path / "fashion_mnist", "t10k", test, [1, 0])
    data = fashion(tmp_path, classes=[0, 1], standardise="pixel")
    inputs = data.tensors["inputs"]
    assert inputs.dtype == np.float32 and inputs.shape == (4, 784)
    # The statistics count all classes of the training part, the kept rows are 0, 1 of it and the test part.
    np.testing.assert_allclose(inputs[:, 0], np.array([-1, -1, 2, 2]) / 1.001, rtol=1e-6)
    np.testing.assert_allclose(inputs[:, 783], [0, 0, 2000, 2000], rtol=1e-5)
    assert not inputs[:, 1:783].any()
    assert data.tensors["labels"].tolist() == [0, 1, 1, 0]


def test_unpacked_files_will_do(tmp_path):
    toys.mnist(tmp_path / "fashion_mnist")
    packed = fashion(tmp_path).metadata
    for file in [*(tmp_path / "fashion_mnist").iterdir()]:
        file.with_suffix("").write_bytes(gzip.decompress(file.read_bytes()))
        file.unlink()
    assert fashion(tmp_path).metadata == packed  # which has the digest of the tensors
