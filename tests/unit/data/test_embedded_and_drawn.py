"""Data sets that need no files: ambiguous_digits, synthetic_gaussian, two_quadratics."""

import numpy as np
import pytest

from fairfl.data import ambiguous_digits, synthetic_gaussian, two_quadratics


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


# -- synthetic_gaussian


def drawn(options=None, seed=0):
    return synthetic_gaussian.prepare(None, synthetic_gaussian.Config(**options or {}), seed).tensors


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


# -- The toy of FedEBA+, figure 1: losses, and the way of one row per client through partition and engine.
def losses(tensors, x):
    """Squared error of each row under the model a x."""
    return (tensors["inputs"][:, 0].astype(float) * x - tensors["labels"].astype(float)) ** 2


@pytest.mark.parametrize(("x", "expected"), [(0, (8, 8)), (2, (0, 18)), (-1, (18, 4.5)), (0.5, (4.5, 10.125))])
def test_losses_of_the_figure(x, expected):
    tensors = two_quadratics.prepare(None, two_quadratics.Config(), 0).tensors
    assert losses(tensors, x) == pytest.approx(expected, abs=1e-5)
    assert tensors["client"].tolist() == [0, 1]
