"""MNIST, EMNIST and DirtyMNIST on small generated files of the same format."""

import pickle

import numpy as np
import pytest

from fairfl.data import dirty_mnist, emnist
from fairfl.runtime.errors import SourceError

# -- EMNIST


@pytest.mark.parametrize(
    ("split", "lowest", "classes"),
    [
        ("byclass", 0, 62),
        ("balanced", 0, 47),
        ("letters", 1, 26),
    ],
)
def test_emnist(small, tmp_path, any_checksum, split, lowest, classes):
    counts = {"train": classes, "test": 5}
    images = {part: small.images(count) for part, count in counts.items()}
    members = [("../../evil.txt", b"x")]
    for part, count in counts.items():
        arrays = {"images-idx3": images[part].transpose(0, 2, 1), "labels-idx1": lowest + np.arange(count)}
        for kind, array in arrays.items():
            members.append((f"gzip/emnist-{split}-{part}-{kind}-ubyte.gz", small.gz(small.idx(array))))
    small.zip(tmp_path / "emnist" / "gzip.zip", members)
    before = sorted(tmp_path.rglob("*"))
    data = emnist.prepare(tmp_path, emnist.Config(split=split), 0)
    np.testing.assert_array_equal(data.tensors["inputs"][:classes, 0], images["train"])
    np.testing.assert_array_equal(data.tensors["inputs"][classes:, 0], images["test"])
    assert data.tensors["labels"].tolist() == [*range(classes), *range(5)]
    assert data.metadata["classes"] == str(classes)
    assert sorted(tmp_path.rglob("*")) == before  # nothing unpacked


def test_emnist_test_part(small, tmp_path, any_checksum):
    """Read where nobody has the archive, for split byclass alone, and said."""
    images = small.images(5)
    arrays = {"images-idx3": images.transpose(0, 2, 1), "labels-idx1": np.arange(57, 62)}
    members = [(f"gzip/emnist-byclass-test-{k}-ubyte.gz", small.gz(small.idx(a))) for k, a in arrays.items()]
    small.zip(tmp_path / "emnist" / "emnist_byclass_test.zip", members)
    data = emnist.prepare(tmp_path, emnist.Config(), 0)
    np.testing.assert_array_equal(data.tensors["inputs"][:, 0], images)
    assert data.tensors["labels"].tolist() == [57, 58, 59, 60, 61]
    assert data.metadata["classes"] == "62"
    assert data.metadata["source"] == "EMNIST, split byclass, test part only, as published, upright"
    for refused in ({"form": "published"}, {"split": "letters"}):
        with pytest.raises(SourceError, match=r"gzip\.zip is missing"):
            emnist.prepare(tmp_path, emnist.Config(**refused), 0)
    (tmp_path / "emnist" / "gzip.zip").touch()
    with pytest.raises(SourceError, match="empty file"):  # the archive comes first
        emnist.prepare(tmp_path, emnist.Config(), 0)


# -- DirtyMNIST


@pytest.fixture
def dirty(small, tmp_path, any_checksum, monkeypatch):
    """40 + 20 clean rows; 6 ambiguous images with 10 labels, of which 4 are training images."""
    torch = pytest.importorskip("torch")
    made = small.mnist(tmp_path)
    (tmp_path / "dirty_mnist").mkdir()
    samples = torch.from_numpy(small.images(6, 9).astype(np.float32) / 255)[:, None]
    labels = torch.arange(60).reshape(6, 10) % 10
    torch.save(samples, tmp_path / "dirty_mnist" / "amnist_samples.pt")
    torch.save(labels, tmp_path / "dirty_mnist" / "amnist_labels.pt")
    monkeypatch.setattr(dirty_mnist, "_TRAIN_ROWS", 40)
    return made


def test_dirty_mnist_structure(small, dirty, tmp_path):
    data = dirty_mnist.prepare(tmp_path, dirty_mnist.Config(noise_std=0.0), 0)
    tensors = data.tensors
    assert tensors["inputs"].shape == (80, 1, 28, 28)
    assert tensors["ambiguous"].tolist() == [0] * 40 + [1] * 40
    assert tensors["groups"].tolist() == [*range(40), *np.repeat(np.arange(40, 44), 10)]
    np.testing.assert_array_equal(tensors["inputs"][:40, 0], dirty["train"][0])
    np.testing.assert_array_equal(tensors["inputs"][40:, 0], np.repeat(small.images(6, 9)[:4], 10, axis=0))
    assert tensors["labels"][40:].tolist() == [i % 10 for i in range(40)]
    assert (data.metadata["scale_mean"], data.metadata["scale_std"]) == ("0.1307", "0.3081")


def test_dirty_mnist_noise(small, dirty, tmp_path):
    """Its size is 0.05 in units of the standardised image, each row has its own, and it stays."""
    clean = dirty_mnist.prepare(tmp_path, dirty_mnist.Config(noise_std=0.0), 0).tensors["inputs"].astype(float)
    first = dirty_mnist.prepare(tmp_path, dirty_mnist.Config(), 0).tensors["inputs"]
    np.testing.assert_array_equal(first, dirty_mnist.prepare(tmp_path, dirty_mnist.Config(), 5).tensors["inputs"])
    inside = (clean > 30) & (clean < 225)  # where nothing is clipped
    for half in (slice(0, 40), slice(40, 80)):
        noise = (first[half].astype(float) - clean[half])[inside[half]] / 255 / 0.3081
        assert abs(noise.std() - 0.05) < 0.002
        assert abs(noise.mean()) < 0.001
    assert (first[40] != first[41]).any()


class _Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_dirty_mnist_does_not_execute_pickles(dirty, tmp_path):
    import torch

    torch.save(_Evil(str(tmp_path / "owned")), tmp_path / "dirty_mnist" / "amnist_samples.pt")
    with pytest.raises(pickle.UnpicklingError):
        dirty_mnist.prepare(tmp_path, dirty_mnist.Config(), 0)
    assert not (tmp_path / "owned").exists()
