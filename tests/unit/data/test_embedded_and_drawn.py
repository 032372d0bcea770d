"""Data sets that need no files: digits, ambiguous_digits, synthetic_gaussian."""

import importlib.util

import numpy as np
import pytest

from fairfl.data import ambiguous_digits, digits, synthetic_gaussian
from fairfl.runtime.errors import DataError

# ---- digits


def test_digits():
    data = digits.prepare(None, digits.Config(), 0)
    inputs, labels = data.tensors["inputs"], data.tensors["labels"]
    assert inputs.shape == (1797, 1, 8, 8) and inputs.dtype == np.uint8
    counts = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(labels).tolist() == counts
    # First image as scikit-learn documents it: 0 0 5 13 9 1 0 0 in its first row.
    expected = [round(x * 255 / 16) for x in (0, 0, 5, 13, 9, 1, 0, 0)]
    assert inputs[0, 0, 0].tolist() == expected
    assert inputs.max() == 255
    assert digits.files(digits.Config()) == ()


def test_digits_of_some_classes_only():
    some, every = (digits.prepare(None, digits.Config(classes=classes), 0) for classes in ([8, 3], None))
    labels = every.tensors["labels"]
    kept = (labels == 8) | (labels == 3)
    assert (some.tensors["inputs"] == every.tensors["inputs"][kept]).all()
    assert (some.tensors["labels"] == np.where(labels[kept] == 8, 0, 1)).all()
    assert some.metadata["classes"] == "2" and "classes [8, 3] only" in some.metadata["source"]


def test_digits_without_scikit_learn(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match="scikit-learn is not installed"):
        digits.prepare(None, digits.Config(), 0)


# ---- ambiguous_digits


def test_ambiguous_digits_structure():
    tensors = ambiguous_digits.prepare(None, ambiguous_digits.Config(), 0).tensors
    clean, blended = tensors["ambiguous"] == 0, tensors["ambiguous"] == 1
    assert clean.sum() == 1797 and blended.sum() == 6000
    np.testing.assert_array_equal(tensors["inputs"][clean], digits.prepare(None, digits.Config(), 0).tensors["inputs"])
    assert tensors["groups"][clean].tolist() == list(range(1797))
    groups = tensors["groups"][blended].reshape(600, 10)
    assert (groups == np.arange(1797, 2397)[:, None]).all()
    images = tensors["inputs"][blended].reshape(600, 10, -1)
    assert (images == images[:, :1]).all()
    assert len(np.unique(images[:, 0], axis=0)) == 600


def test_ambiguous_labels_come_from_the_two_blended_classes():
    """Each blend is explained by a pair of clean images with exactly the labels of its rows."""
    options = {"images": 20, "weight_low": 0.5, "weight_high": 0.5, "labels_per_image": 30}
    tensors = ambiguous_digits.prepare(None, ambiguous_digits.Config(**options), 0).tensors
    clean = tensors["inputs"][:1797].reshape(1797, -1).astype(float)
    for i in range(20):
        rows = slice(1797 + 30 * i, 1797 + 30 * (i + 1))
        blend = tensors["inputs"][rows][0].reshape(-1).astype(float)
        found = set(tensors["labels"][rows].tolist())
        assert len(found) == 2  # 30 fair draws: both classes, and no third
        pair = []
        for label in found:
            members = clean[tensors["labels"][:1797] == label]
            pair.append(members)
        distance = np.abs((pair[0][:, None] + pair[1][None]) / 2 - blend).max(-1)
        assert distance.min() <= 0.5


def test_ambiguous_label_shares_follow_the_weight():
    options = {"images": 50, "labels_per_image": 200, "weight_low": 0.9, "weight_high": 0.9}
    labels = (
        ambiguous_digits.prepare(None, ambiguous_digits.Config(**options), 0).tensors["labels"][1797:].reshape(50, 200)
    )
    share = [np.bincount(row).max() / 200 for row in labels]
    assert abs(np.mean(share) - 0.9) < 0.01
    options |= {"weight_low": 1.0, "weight_high": 1.0}
    tensors = ambiguous_digits.prepare(None, ambiguous_digits.Config(**options), 0).tensors
    labels = tensors["labels"][1797:].reshape(50, 200)
    assert (labels == labels[:, :1]).all()


def test_ambiguous_digits_seed_option():
    def blends(options, seed=0):
        return ambiguous_digits.prepare(None, ambiguous_digits.Config(**options), seed).metadata["sha256"]

    assert blends({}) == blends({"seed": 0}, seed=7)
    assert blends({}) != blends({"seed": 1})


# ---- synthetic_gaussian


def drawn(options=None, seed=0):
    return synthetic_gaussian.prepare(None, synthetic_gaussian.Config(**options or {}), seed).tensors


def test_synthetic_default_form():
    tensors = drawn()
    assert tensors["inputs"].shape == (300, 2) and tensors["inputs"].dtype == np.float32
    assert tensors["client"].tolist() == [0] * 100 + [1] * 100 + [2] * 100
    for k in range(3):
        assert np.bincount(tensors["labels"][tensors["client"] == k]).tolist() == [50, 50]


def test_synthetic_means_and_rotation():
    """(2, 2) turned by 45 degrees around the origin is (0, 2.83)."""
    options = {
        "means": [[2, 2], [1, 1], [2, 2]],
        "samples_per_client": 40000,
        "std": [1.0, 0.5, 2.0],
        "rotation": {"client": 2, "degrees": 45},
    }
    tensors = drawn(options)
    for k, mean, std in ((0, (2, 2), 1.0), (1, (1, 1), 0.5), (2, (0, 8**0.5), 2.0)):
        for label, sign in ((1, 1), (0, -1)):
            rows = tensors["inputs"][(tensors["client"] == k) & (tensors["labels"] == label)]
            np.testing.assert_allclose(rows.mean(0), sign * np.array(mean), atol=0.05)
            np.testing.assert_allclose(np.cov(rows.T), std**2 * np.eye(2), atol=0.1)


def test_synthetic_rotation_is_exact_without_noise():
    means = {"0": [2, 2], "1": [1, 1], "2": [0.5, 0.5]}
    tensors = drawn({"means": means, "std": 0, "samples_per_client": 2})
    expected = [[2, 2], [-2, -2], [1, 1], [-1, -1], [0, 0.5**0.5], [0, -(0.5**0.5)]]
    np.testing.assert_allclose(tensors["inputs"], expected, atol=1e-7)
    assert tensors["labels"].tolist() == [1, 0] * 3


def test_synthetic_rotation_of_another_client_or_none():
    plain = drawn({"rotation": None})["inputs"]
    turned = drawn({"rotation": {"client": 0, "degrees": 90}})["inputs"]
    np.testing.assert_array_equal(plain[100:], turned[100:])
    np.testing.assert_allclose(turned[:100], plain[:100, ::-1] * [-1, 1], atol=1e-6)


def test_synthetic_seeds():
    np.testing.assert_array_equal(drawn(seed=3)["inputs"], drawn(seed=3)["inputs"])
    assert not np.isclose(drawn(seed=3)["inputs"], drawn(seed=4)["inputs"]).any()


def test_synthetic_clients_are_independent():
    """A client's data stay the same when other clients are added; noise differs by client."""
    two = drawn({"means": [[1, 1], [1, 1]], "rotation": None})["inputs"]
    three = drawn({"means": [[1, 1], [1, 1], [0, 0]], "rotation": None})["inputs"]
    np.testing.assert_array_equal(two, three[:200])
    assert not np.isclose(two[:100], two[100:]).any()


@pytest.mark.parametrize(("balance", "positives"), [(0.3, 30), (0.0, 0), (1.0, 100), (0.333, 33)])
def test_synthetic_class_balance_is_exact(balance, positives):
    tensors = drawn({"class_balance": balance})
    for k in range(3):
        assert tensors["labels"][tensors["client"] == k].sum() == positives
