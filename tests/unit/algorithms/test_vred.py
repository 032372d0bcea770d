"""VRed: hand-computed example, the paper's two ways to write the update, limiting cases."""

import torch

from tests.unit.algorithms.reweighting import weights
from tests.unit.algorithms.toy import ETA, SAMPLES, F, G, X, close, step

P = SAMPLES / SAMPLES.sum()
D = ETA * G


def test_update_of_algorithm_1():
    beta, mean, D_mean = 0.3, P @ F, P @ D
    update = D_mean + 2 * beta * (P * (F - mean)) @ (D - D_mean)
    close(step("vred", beta=beta)[0], X - update, 1e-12)


def test_weights_of_the_lemma_for_equal_sizes():
    beta, n = 0.2, 3
    close(weights("vred", F, torch.ones_like(F), beta=beta), (1 + 2 * beta * (F - F.mean())) / n, 1e-12)
