"""Data sets that are drawn: synthetic_gaussian, synthetic_regression, two_quadratics. Others: test_digests.py."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.data import synthetic_gaussian, synthetic_regression, two_quadratics

# -- synthetic_gaussian


def test_synthetic_means_and_rotation():
    """(2, 2) turned by 45 degrees around the origin is (0, 2.83)."""
    options = {
        "means": [[2, 2], [1, 1], [2, 2]],
        "samples_per_client": 40000,
        "std": [1.0, 0.5, 2.0],
        "rotation": {"client": 2, "degrees": 45},
    }
    tensors = synthetic_gaussian.prepare(None, synthetic_gaussian.Config(**options), 0).tensors
    for k, mean, std in ((0, (2, 2), 1.0), (1, (1, 1), 0.5), (2, (0, 8**0.5), 2.0)):
        for label, sign in ((1, 1), (0, -1)):
            rows = tensors["inputs"][(tensors["client"] == k) & (tensors["labels"] == label)]
            np.testing.assert_allclose(rows.mean(0), sign * np.array(mean), atol=0.05)
            np.testing.assert_allclose(np.cov(rows.T), std**2 * np.eye(2), atol=0.1)


# -- The toy of FedEBA+, figure 1: losses, and the way of one row per client through partition and engine.
@pytest.mark.parametrize(("x", "expected"), [(0, (8, 8)), (2, (0, 18)), (-1, (18, 4.5)), (0.5, (4.5, 10.125))])
def test_losses_of_the_figure(x, expected):
    tensors = two_quadratics.prepare(None, two_quadratics.Config(), 0).tensors
    errors = tensors["inputs"][:, 0].astype(float) * x - tensors["labels"].astype(float)
    assert errors**2 == pytest.approx(expected, abs=1e-5)
    assert tensors["client"].tolist() == [0, 1]


# -- FOCUS's synthetic data: moments, distances, draws per seed, the loss that no model falls below.
def agents(seed=0, **options):
    return synthetic_regression.prepare(None, synthetic_regression.Config(**options), seed)


def of(data, client):
    mine = data.tensors["client"] == client
    return data.tensors["inputs"][mine].astype(float), data.tensors["labels"][mine].astype(float)


def vectors(seed=0, **options):
    """mu_e of each agent, [K, d]: without noise least squares finds them."""
    data = agents(seed, **options, noise_std=0.0)
    return np.stack([np.linalg.lstsq(*of(data, k), rcond=None)[0] for k in np.unique(data.tensors["client"])])


def test_form():
    """Clients one after the other, of each the training part first; an outlier may have fewer samples to train on."""
    data, fewer = agents(), agents(outlier_train=20)
    types = {"inputs": "float32", "labels": "float32", "groups": "int64", "client": "int64", "official_test": "uint8"}
    assert {name: tensor.dtype.name for name, tensor in data.tensors.items()} == types
    assert data.tensors["inputs"].shape == (11_000, 10)
    for made, last in ((data, 100), (fewer, 20)):
        assert made.tensors["client"].tolist() == [k for k in range(9) for _ in range(1100)] + [9] * (last + 1000)
        assert made.tensors["official_test"].tolist() == ([0] * 100 + [1] * 1000) * 9 + [0] * last + [1] * 1000
    np.testing.assert_array_equal(of(fewer, 8)[0], of(data, 8)[0])
    assert data.metadata["classes"] == "0" and json.loads(data.metadata["clusters"]) == [0] * 9 + [1]
    assert float(data.metadata["bayes_loss"]) == pytest.approx(0.01)
    assert data.metadata["source"] == "drawn as in FOCUS, section 5.2 (synthetic data), seed 0"


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 12), st.floats(0, 2), st.floats(0, 3), st.integers(0, 1000))
def test_distances_are_exactly_r_and_R(dimensions, r, R, seed):
    """Without an inner distance all normal agents are at the centre."""
    sizes = {"clients": 5, "outliers": 2, "dimensions": dimensions, "train_per_client": 40, "test_per_client": 0}
    center, *same = vectors(seed, **sizes, intra_cluster_distance=0.0, inter_cluster_distance=R)[:3]
    for other in same:
        np.testing.assert_allclose(other, center, atol=1e-5)
    assert np.linalg.norm(center) == pytest.approx(1, abs=1e-5)
    mu = vectors(seed, **sizes, intra_cluster_distance=r, inter_cluster_distance=R)
    np.testing.assert_allclose(np.linalg.norm(mu - center, axis=1), [r] * 3 + [R] * 2, atol=1e-4)


def test_moments():
    data = agents(input_std=2.0, noise_std=0.5, train_per_client=20_000, test_per_client=0, clients=2, dimensions=3)
    for client in range(2):
        x, y = of(data, client)
        np.testing.assert_allclose(x.mean(0), 0, atol=0.06)
        np.testing.assert_allclose(np.cov(x.T), 4 * np.eye(3), atol=0.2)
        rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
        assert rest.std() == pytest.approx(0.5, rel=0.03) and abs(rest.mean()) < 0.02
        assert np.abs(rest @ x / len(x)).max() < 0.03
