"""fairfl.algorithms against the papers' boxes in plain NumPy (naive.py), round after round, with sampled clients."""

import numpy as np
import pytest
import torch

from tests.oracle import naive
from tests.oracle.federation import K, P, naive_path, path, rounds
from tests.unit.algorithms.test_options import chosen

SEEDS = pytest.mark.parametrize("seed", range(4))


def same(ours, theirs, tolerance=1e-10):
    np.testing.assert_allclose(np.stack(ours), np.stack(theirs), rtol=0, atol=tolerance)


# Each pair of two options' values is in a row; tau, alpha, order, m.
FEDFV = [
    (0, 0.0, "loss", 1), (0, 0.1, "reverse", 3), (0, 0.5, "loss", K), (0, 1.0, "reverse", 1),
    (1, 0.0, "reverse", 3), (1, 0.1, "loss", K), (1, 0.5, "reverse", 1), (1, 1.0, "loss", 3),
    (3, 0.0, "loss", K), (3, 0.1, "reverse", 1), (3, 0.5, "loss", 3), (3, 1.0, "reverse", K),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("tau", "alpha", "order", "m"), FEDFV)
def test_fedfv(seed, tau, alpha, order, m):
    drawn = rounds(seed, m)
    theirs = naive_path(naive.FedFV(alpha, tau, reverse=order == "reverse"), drawn)
    same(path("fedfv", drawn, alpha=alpha, tau=tau, order=order)[0], theirs)


@SEEDS
@pytest.mark.parametrize("q", [0, 0.1, 1, 5, 15])
@pytest.mark.parametrize("m", [1, 3, K])
def test_qffl(seed, q, m):
    drawn = rounds(seed, m)
    same(path("qffl", drawn, q=q)[0], naive_path(naive.QFedAvg(q), drawn))


@SEEDS
@pytest.mark.parametrize("eta_lambda", [0.0, 0.01, 0.5])
def test_afl(seed, eta_lambda):
    drawn, algorithm = rounds(seed, K), naive.AFL(eta_lambda, K)
    theirs = naive_path(algorithm, drawn)
    chosen = {"eta_lambda": eta_lambda, "order": "descent_first", "start": "uniform"}
    ours, result = path("afl", drawn, report="average", **chosen)
    same(ours, theirs)
    same([result], [algorithm.result()])
    same([path("afl", drawn, report="last", **chosen)[1]], theirs[-1:])


@SEEDS
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.1, 1.0])
@pytest.mark.parametrize("center", ["samples", "uniform"])
@pytest.mark.parametrize(("m", "eta_global"), [(1, 1.0), (3, None), (K, 0.5)])
def test_fedmgda_plus(seed, epsilon, center, m, eta_global):
    drawn = rounds(seed, m)
    theirs = naive_path(naive.FedMGDA(epsilon, eta_global, uniform=center == "uniform"), drawn)
    ours, _ = path("fedmgda_plus", drawn, epsilon=epsilon, center=center, eta_global=eta_global)
    same(ours, theirs, 1e-6)


@SEEDS
@pytest.mark.parametrize("eta_g", [1.0, 0.3])
@pytest.mark.parametrize("m", [1, 3, K])
def test_scaffold(seed, eta_g, m):
    drawn = rounds(seed, m)
    same(path("scaffold", drawn, eta_g=eta_g)[0], naive_path(naive.Scaffold(eta_g, K, P), drawn))


@pytest.mark.parametrize("d", [3, 5, K])
@pytest.mark.parametrize("candidates", ["size", "uniform"])
def test_power_of_choice(d, candidates):
    for drawn in rounds(0, 3):
        losses, samples = torch.from_numpy(drawn.loss), torch.from_numpy(drawn.samples)
        asked, S = chosen(losses, samples, 3, drawn.t, d=d, candidates=candidates)
        assert len(asked) == d and sorted(S) == naive.power_of_choice(asked, drawn.loss, 3)
