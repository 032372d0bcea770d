"""Fashion-MNIST on small generated files of the same format, and on a mirror where there is one."""

import numpy as np
import pytest

from fairfl.data import fashion_mnist


@pytest.fixture
def made(small, tmp_path, any_checksum):
    """40 training and 20 test images, four and two of each class."""
    return small.mnist(tmp_path, dataset="fashion_mnist")


def test_parts(made, tmp_path):
    both = fashion_mnist.prepare(tmp_path, fashion_mnist.Config(), 0)
    np.testing.assert_array_equal(both.tensors["inputs"][:40, 0], made["train"][0])
    np.testing.assert_array_equal(both.tensors["inputs"][40:, 0], made["t10k"][0])
    assert both.tensors["labels"].tolist() == [i % 10 for i in range(40)] + [i % 10 for i in range(20)]
    assert (both.metadata["scale_mean"], both.metadata["scale_std"], both.metadata["classes"]) == ("0.0", "1.0", "10")
    assert both.metadata["source"] == "Fashion-MNIST, part all, as published"
    assert both.tensors["official_test"].tolist() == [0] * 40 + [1] * 20
    kept = fashion_mnist.prepare(tmp_path, fashion_mnist.Config(classes=[6, 0]), 0)
    assert kept.tensors["official_test"].tolist() == [0] * 8 + [1] * 4
    test = fashion_mnist.prepare(tmp_path, fashion_mnist.Config(part="test"), 0)
    np.testing.assert_array_equal(test.tensors["inputs"][:, 0], made["t10k"][0])
    assert "official_test" not in test.tensors


def test_classes_are_numbered_in_the_order_given(made, tmp_path):
    data = fashion_mnist.prepare(tmp_path, fashion_mnist.Config(classes=[6, 0, 2], part="test"), 0)
    images, labels = made["t10k"]
    assert labels[[0, 2, 6, 10, 12, 16]].tolist() == [0, 2, 6, 0, 2, 6]
    np.testing.assert_array_equal(data.tensors["inputs"][:, 0], images[[0, 2, 6, 10, 12, 16]])
    assert data.tensors["labels"].tolist() == [1, 2, 0, 1, 2, 0]
    assert data.metadata["classes"] == "3"
    assert "classes [6, 0, 2] only" in data.metadata["source"]


def test_pixel_standardisation_is_by_hand(small, tmp_path, any_checksum):
    """Of 0, 0, 2, 2 the mean is 1 and the standard deviation 1; a pixel that is always 7 has 0."""
    train, test = np.zeros((4, 28, 28)), np.zeros((2, 28, 28))
    train[2:, 0, 0], train[:, 27, 27] = 2, 7
    test[:, 0, 0], test[:, 27, 27] = 3, 9
    small.mnist_part(tmp_path, "train", train, [0, 1, 2, 9], "fashion_mnist")
    small.mnist_part(tmp_path, "t10k", test, [1, 0], "fashion_mnist")
    data = fashion_mnist.prepare(tmp_path, fashion_mnist.Config(classes=[0, 1], standardise="pixel"), 0)
    inputs = data.tensors["inputs"]
    assert inputs.dtype == np.float32 and inputs.shape == (4, 784)
    # The statistics count all classes of the training part, the kept rows are 0, 1 of it and the test part.
    np.testing.assert_allclose(inputs[:, 0], np.array([-1, -1, 2, 2]) / 1.001, rtol=1e-6)
    np.testing.assert_allclose(inputs[:, 783], [0, 0, 2000, 2000], rtol=1e-5)
    assert not inputs[:, 1:783].any()
    assert data.tensors["labels"].tolist() == [0, 1, 1, 0]
